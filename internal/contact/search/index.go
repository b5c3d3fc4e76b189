package search

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

const pendingSQL = "SELECT `seq`, -1 FROM `_contactUnindexed` UNION ALL SELECT `seq`, `indexed` FROM `_contactSearch` WHERE `indexed` != 1 LIMIT ?"

// The statements that bring rows up to date, whose numbers are a JSON list.
const (
	dropTrigramsSQL = "DELETE FROM `_contactGrams` WHERE `rowid` IN (SELECT `value` FROM json_each(?))"
	forgetSQL       = "DELETE FROM `_contactUnindexed` WHERE `seq` IN (SELECT `value` FROM json_each(?))"
	addTrigramsSQL  = "INSERT INTO `_contactGrams` (`rowid`, `text`) SELECT s.`seq`, s.`text` FROM json_each(?) j CROSS JOIN `_contactSearch` s ON s.`seq` = j.`value`"
	markIndexedSQL  = "UPDATE `_contactSearch` SET `indexed` = 1 WHERE `seq` IN (SELECT `value` FROM json_each(?))"
)

// IndexPending brings up to limit search rows into the index of trigrams, or out of it, in the caller's transaction, and
// tells how many there were. A trigram costs a write many times more alone than in a batch; until then a search reads
// the row itself.
func IndexPending(tx core.App, limit int) (found int, err error) {
	p, err := readPending(tx, limit)
	if err != nil {
		return 0, fmt.Errorf("indexing trigrams: %w", err)
	}
	var statements []sqlite.Statement
	for _, step := range []struct {
		text string
		rows []int64
	}{
		{dropTrigramsSQL, slices.Concat(p.gone, p.changed)}, {forgetSQL, p.gone}, {addTrigramsSQL, p.present}, {markIndexedSQL, p.present},
	} {
		if len(step.rows) == 0 {
			continue
		}
		list, err := json.Marshal(step.rows)
		if err != nil {
			return 0, err
		}
		statements = append(statements, sqlite.Statement{Text: step.text, Args: []any{string(list)}})
	}
	if _, err := sqlite.Run(tx, statements); err != nil {
		return 0, fmt.Errorf("indexing trigrams: %w", err)
	}
	return len(p.gone) + len(p.present), nil
}

// pending are the numbers of search rows that differ from what the index of trigrams has.
type pending struct {
	gone    []int64
	changed []int64 // in the index with a former text
	present []int64 // all that are to be in it, the changed ones too
}

func readPending(tx core.App, limit int) (p pending, err error) {
	rows, err := sqlite.Direct(tx.NonconcurrentDB()).Query(pendingSQL, limit)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq, state int64
		if err := rows.Scan(&seq, &state); err != nil {
			return p, err
		}
		if state < 0 {
			p.gone = append(p.gone, seq)
			continue
		}
		p.present = append(p.present, seq)
		if state != 0 {
			p.changed = append(p.changed, seq)
		}
	}
	return p, rows.Err()
}

const (
	mergeTime  = 10 * time.Millisecond // of a step
	mergePages = 16                    // between two looks at the clock
)

// mergeSQL merges segments of the index until so many pages are written.
const mergeSQL = "INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('merge', ?)"

const changesSQL = "SELECT total_changes()"

// merge merges segments of the index of trigrams for a while, in the caller's transaction, and tells whether there may
// be more to merge.
func merge(tx core.App) (more bool, err error) {
	before, err := totalChanges(tx)
	for began := time.Now(); err == nil && time.Since(began) < mergeTime; {
		if _, err := sqlite.Run(tx, []sqlite.Statement{{Text: mergeSQL, Args: []any{mergePages}}}); err != nil {
			return false, fmt.Errorf("merging the index of trigrams: %w", err)
		}
		after, err := totalChanges(tx)
		if err != nil || after-before < 2 { // as FTS5 tells that there was nothing to do
			return false, err
		}
		before = after
	}
	return true, err
}

func totalChanges(tx core.App) (changes int64, err error) {
	rows, err := sqlite.ReaderOf(tx).Query(changesSQL)
	if err != nil {
		return 0, fmt.Errorf("counting changes: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&changes); err != nil {
			return 0, fmt.Errorf("counting changes: %w", err)
		}
	}
	return changes, rows.Err()
}
