package activity

import (
	"database/sql"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// source is a table whose rows are counted behind the writes, beside the writer. They commit in the order of their row numbers;
// a mark in `_counted`, which is written with the counts, has the last one, so that each is counted once.
type source struct {
	table   string
	rowSQL  string // the number of the row ?1, or where that is gone, of the last one from before: it has the time ?2
	lastSQL string // id and time of the last row up to the number ?1

	// gather reads the first rows behind a number, so many at most. It returns how many there were, the number of the last one, and the plan that
	// writes their counts.
	gather func(reader sqlite.Reader, behind int64, limit int) (found int, last int64, plan plan, err error)
	most   int // rows that are counted together
}

// plan is what sqlite.Write takes.
type plan func(tx sqlite.Reader) ([]sqlite.Statement, error)

// mark is the last row that is counted.
type mark struct{ row, time string }

func (m *mark) read(from sqlite.Reader, query string, args ...any) error {
	return sqlite.Each(from, query, func(rows *sql.Rows) error { return rows.Scan(&m.row, &m.time) }, args...)
}

const (
	markSQL = "SELECT `row`, `time` FROM `_counted` WHERE `table` = ?"
	moveSQL = "UPDATE `_counted` SET `row` = ?, `time` = ? WHERE `table` = ?"
)

// Count counts the events and attempts that are not counted yet, up to some thousands, and reports whether there are more.
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
	var before, after mark
	if err := before.read(reader, markSQL, s.table); err != nil {
		return false, err
	}
	row, err := sqlite.Value[int64](reader, s.rowSQL, before.row, before.time)
	if err != nil {
		return false, err
	}
	found, last, counts, err := s.gather(reader, row, s.most)
	if err != nil || found == 0 {
		return false, err
	}
	if err := after.read(reader, s.lastSQL, last); err != nil {
		return false, err
	}
	_, err = sqlite.Write(app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		var present mark
		if err := present.read(tx, markSQL, s.table); err != nil || present != before {
			return nil, err // somebody else has counted them
		}
		statements, err := counts(tx)
		return append(statements, sqlite.Statement{Text: moveSQL, Args: []any{after.row, after.time, s.table}}), err
	})
	return found == s.most, err
}
