package imports

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const (
	// storeTimeout is how long the next page of a sheet that is being stored may take. After that, the client no longer
	// exists.
	storeTimeout = time.Hour

	// maxPruned is how many imports are pruned at a time: each chunk looks up each of them.
	maxPruned = 100
)

// unneeded has, for each table with rows of imports, the condition on an import i whose rows there are not needed any
// more. Those of imports that are gone never are.
var unneeded = []struct{ table, condition string }{
	{"_importRows", "i.`status` IN ('cancelled', 'dryRun', 'undoing', 'undone')"},
	{"_importContacts", "i.`status` != 'running'"},
	{"_importCreated", "FALSE"},
	{"_importRefusals", "FALSE"},
	{"_importNotes", "FALSE"},
}

// findSQL returns the first ? imports whose rows in the table are not needed. It looks up each import once, because a
// running one may have a million rows.
func findSQL(table, condition string) string {
	return strings.NewReplacer("{table}", "`"+table+"`", "{condition}", condition).Replace(
		"WITH RECURSIVE found(`id`) AS (SELECT min(`import`) FROM {table} UNION ALL " +
			"SELECT (SELECT min(`import`) FROM {table} WHERE `import` > found.`id`) FROM found WHERE found.`id` IS NOT NULL) " +
			"SELECT found.`id` FROM found LEFT JOIN `_imports` i ON i.`id` = found.`id` " +
			"WHERE found.`id` IS NOT NULL AND (i.`id` IS NULL OR {condition}) LIMIT ?")
}

// pruneSQL deletes up to ?2 rows of the imports ?1, if they are still not needed.
func pruneSQL(table, condition string) string {
	return strings.NewReplacer("{table}", "`"+table+"`", "{condition}", condition).Replace(
		"DELETE FROM {table} WHERE rowid IN " +
			"(SELECT r.rowid FROM json_each(?1) j LEFT JOIN `_imports` i ON i.`id` = j.`value` " +
			"CROSS JOIN {table} r ON r.`import` = j.`value` WHERE i.`id` IS NULL OR {condition} LIMIT ?2)")
}

// isOld is the condition that an import has ended before ?1, or that nobody has stored its rows since ?2.
const isOld = "(`updated` < ?1 AND `status` NOT IN ('checking', 'running', 'undoing') " +
	"OR `updated` < ?2 AND `status` = 'storing')"

const (
	findOldSQL   = "SELECT `id` FROM `_imports` WHERE `id` > ?3 AND " + isOld + " ORDER BY `id` LIMIT ?4"
	deleteOldSQL = "DELETE FROM `_imports` WHERE `id` IN (SELECT i.`id` FROM json_each(?3) j " +
		"CROSS JOIN `_imports` i ON i.`id` = j.`value` WHERE " + isOld + " LIMIT ?4)"
)

// Prune deletes imports that have not changed since before and are not running, and what is not needed any more of
// others. It works in chunks, and stops between two of them when ctx ends.
func Prune(ctx context.Context, app core.App, before time.Time) error {
	ended, stored := stamp.Stored(before), stamp.Stored(time.Now().Add(-storeTimeout))
	for last := ""; ; {
		ids, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()), findOldSQL, ended, stored, last, maxPruned)
		if err == nil && len(ids) > 0 {
			last = ids[len(ids)-1]
			err = sqlite.DeleteInChunks(ctx, app, deleteOldSQL, ended, stored, sqlite.List(ids))
		}
		if err != nil {
			return fmt.Errorf("pruning imports: %w", err)
		}
		if len(ids) < maxPruned {
			return deleteUnneeded(ctx, app)
		}
	}
}

// deleteUnneeded deletes the rows of imports that were cancelled, what ended ones have kept of the contacts that they
// changed, and all of deleted ones. It finds the imports without the writer lock.
func deleteUnneeded(ctx context.Context, app core.App) error {
	for _, u := range unneeded {
		for {
			ids, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()), findSQL(u.table, u.condition), maxPruned)
			if err == nil && len(ids) > 0 {
				err = sqlite.DeleteInChunks(ctx, app, pruneSQL(u.table, u.condition), sqlite.List(ids))
			}
			if err != nil {
				return fmt.Errorf("pruning imports: %w", err)
			}
			if len(ids) < maxPruned {
				break
			}
		}
	}
	return nil
}
