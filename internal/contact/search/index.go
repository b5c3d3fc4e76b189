package search

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// IndexedUpTo is the number of the last search row in the trigram index, which has all rows up to it. Changed is the
// condition on those rows whose text has changed since.
const (
	IndexedUpTo = "(SELECT `upTo` FROM `_contactIndexed`)"
	Changed     = "`indexed` = 2"
)

// Each query returns up to ? numbers of rows, with how many ordinary rows each of them counts for: of those that were
// deleted since they were indexed, that have changed since, and that were added since.
const (
	goneSQL    = "SELECT `seq`, 1 FROM `_contactUnindexed` LIMIT ?"
	changedSQL = "SELECT `seq`, " + costSQL + " FROM `_contactSearch` INDEXED BY `idx__contactSearch_changed` WHERE " +
		Changed + " AND `seq` <= " + IndexedUpTo + " LIMIT ?"
	newSQL = "SELECT `seq`, " + costSQL + " FROM `_contactSearch` WHERE `seq` > " + IndexedUpTo +
		" ORDER BY `seq` LIMIT ?"
	costSQL = "1 + octet_length(`text`) / 256"
)

// The statements that update the index for rows whose numbers are a JSON list. A text is indexed with two line breaks
// at its end, so that each of its letters begins a trigram.
const (
	dropTrigramsSQL = "DELETE FROM `_contactGrams` WHERE `rowid` IN (SELECT `value` FROM json_each(?))"
	forgetSQL       = "DELETE FROM `_contactUnindexed` WHERE `seq` IN (SELECT `value` FROM json_each(?))"
	addTrigramsSQL  = "INSERT INTO `_contactGrams` (`rowid`, `text`) SELECT s.`seq`, s.`text` || char(10, 10) " +
		"FROM json_each(?) j CROSS JOIN `_contactSearch` s ON s.`seq` = j.`value`"
	unchangeSQL = "UPDATE `_contactSearch` SET `indexed` = 1 WHERE `seq` IN (SELECT `value` FROM json_each(?))"
	moveSQL     = "UPDATE `_contactIndexed` SET `upTo` = ?"
)

// IndexPending updates the trigram index for search rows, in the caller's transaction, and returns for how many: a long
// text counts for several rows, and the last one may exceed the limit. It is one statement for all of them, because
// FTS5 writes a segment for each. Indexing a row with its write would take many times as long as in a batch. Until a
// row is indexed, searches read the row itself.
func IndexPending(tx core.App, limit int) (found int, err error) {
	p, err := readPending(sqlite.ReaderOf(tx), limit)
	if err != nil {
		return 0, fmt.Errorf("indexing trigrams: %w", err)
	}
	if _, err := sqlite.Run(tx, p.statements()); err != nil {
		return 0, fmt.Errorf("indexing trigrams: %w", err)
	}
	return p.cost, nil
}

// pending has the numbers of the search rows for which the trigram index is out of date.
type pending struct {
	gone    []int64
	changed []int64
	added   []int64 // in their order
	cost    int     // in ordinary rows
}

// readPending reads numbers until they cost the limit. Deleted rows come first: a new row may have their number.
func readPending(tx sqlite.Reader, limit int) (p pending, err error) {
	for _, kind := range []struct {
		query   string
		numbers *[]int64
	}{
		{goneSQL, &p.gone}, {changedSQL, &p.changed}, {newSQL, &p.added},
	} {
		err := sqlite.Each(tx, kind.query, func(rows *sql.Rows) error {
			var number int64
			var cost int
			err := rows.Scan(&number, &cost)
			if p.cost < limit {
				*kind.numbers, p.cost = append(*kind.numbers, number), p.cost+cost
			}
			return err
		}, max(0, limit-p.cost))
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *pending) statements() (statements []sqlite.Statement) {
	for _, step := range []struct {
		text string
		rows []int64
	}{
		{dropTrigramsSQL, slices.Concat(p.gone, p.changed)}, {forgetSQL, p.gone},
		{addTrigramsSQL, slices.Concat(p.changed, p.added)}, {unchangeSQL, p.changed},
	} {
		if len(step.rows) > 0 {
			statements = append(statements, sqlite.Statement{Text: step.text, Args: []any{sqlite.List(step.rows)}})
		}
	}
	if n := len(p.added); n > 0 {
		statements = append(statements, sqlite.Statement{Text: moveSQL, Args: []any{p.added[n-1]}})
	}
	return statements
}

const (
	mergeTime  = 4 * time.Millisecond // of one merge
	mergePages = 16                   // after which merge looks at the clock
)

// mergeSQL merges segments of the index until ? pages are written.
const mergeSQL = "INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('merge', ?)"

const changesSQL = "SELECT total_changes()"

// merge merges segments of the trigram index for a few milliseconds, in the caller's transaction, and reports whether
// there may be more to merge.
func merge(tx core.App) (more bool, err error) {
	before, err := totalChanges(tx)
	for began := time.Now(); err == nil && time.Since(began) < mergeTime; {
		if _, err := sqlite.Exec(tx, mergeSQL, mergePages); err != nil {
			return false, fmt.Errorf("merging the trigram index: %w", err)
		}
		after, err := totalChanges(tx)
		if err != nil || after-before < 2 { // FTS5's way to say that there was nothing to merge
			return false, err
		}
		before = after
	}
	return true, err
}

func totalChanges(tx core.App) (int64, error) {
	changes, err := sqlite.Value[int64](sqlite.ReaderOf(tx), changesSQL)
	if err != nil {
		return 0, fmt.Errorf("counting changes: %w", err)
	}
	return changes, nil
}
