package activity

import (
	"database/sql"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// source is a table whose rows are counted after their commits, in the order of their rowids. A cursor in the table
// _counted is written with the counts, so that each row is counted once.
type source struct {
	table string
	// the rowid of the cursor's row, which has the id ?1 and the time ?2, or of the last row before if
	// that has been deleted
	rowSQL  string
	lastSQL string // id and time of the last row up to the rowid ?1

	gather func(reader sqlite.Reader, after int64, limit int) (*gathered, error) // reads up to limit rows after a rowid
	limit  int                                                                   // rows that are counted together
}

// gathered are rows that are counted together.
type gathered struct {
	found  int
	last   int64              // rowid
	store  sqlite.WriteFunc   // stores the counts
	stored func(app core.App) // called once they are stored; may be nil
}

// cursor identifies the last row that was counted. Rowids may change, for example when a backup is restored.
type cursor struct{ id, time string }

func (c *cursor) read(from sqlite.Reader, query string, args ...any) error {
	return sqlite.Each(from, query, func(rows *sql.Rows) error { return rows.Scan(&c.id, &c.time) }, args...)
}

const (
	cursorSQL  = "SELECT `row`, `time` FROM `_counted` WHERE `table` = ?"
	advanceSQL = "UPDATE `_counted` SET `row` = ?, `time` = ? WHERE `table` = ?"
)

// Count counts up to some thousands of the events and attempts that are not counted yet, and reports whether
// there may be more.
func Count(app core.App) (more bool, err error) {
	for _, source := range []source{events, attempts} {
		left, err := source.count(app)
		if err != nil {
			return false, fmt.Errorf("counting %s: %w", source.table, err)
		}
		more = more || left
	}
	return more, nil
}

func (s source) count(app core.App) (more bool, err error) {
	reader := sqlite.Direct(app.ConcurrentDB())
	var before, after cursor
	if err := before.read(reader, cursorSQL, s.table); err != nil {
		return false, err
	}
	row, err := sqlite.Value[int64](reader, s.rowSQL, before.id, before.time)
	if err != nil {
		return false, err
	}
	rows, err := s.gather(reader, row, s.limit)
	if err != nil || rows.found == 0 {
		return false, err
	}
	if err := after.read(reader, s.lastSQL, rows.last); err != nil {
		return false, err
	}
	_, err = sqlite.Write(app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		var current cursor
		if err := current.read(tx, cursorSQL, s.table); err != nil || current != before {
			return nil, err // another process has counted these rows
		}
		statements, err := rows.store(tx)
		return append(statements, sqlite.Statement{Text: advanceSQL, Args: []any{after.id, after.time, s.table}}), err
	})
	if err == nil && rows.stored != nil {
		rows.stored(app)
	}
	return rows.found == s.limit, err
}
