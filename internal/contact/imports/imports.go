// Package imports writes the contacts of a spreadsheet, in the background and in small chunks. An import is kept in the database with its
// rows, and each step commits the contacts that it writes together with the place that it has reached: a process that goes on after a
// crash applies no row twice. A check, or dry run, takes the same steps and rolls each of them back.
package imports

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Status is how far an import has come.
type Status string

// The statuses. An import that is stored in part has none of them.
const (
	New       Status = "new"       // its rows are stored
	Checking  Status = "checking"  // what it would do is counted
	Checked   Status = "checked"   // that is known
	Running   Status = "running"   // its rows are applied
	Done      Status = "done"      // all of them were
	Cancelled Status = "cancelled" // what was applied until then stays
	DryRun    Status = "dryRun"    // what it would do is known, and nothing was applied

	storing Status = "storing"
)

// Kept is for how long an import is kept after its last change, unless it is running.
const Kept = 7 * 24 * time.Hour

const (
	// maxShown is how many refusals an import shows.
	maxShown = 20

	// maxListed is how many imports a list has.
	maxListed = 50
)

// Import is a spreadsheet of contacts and what becomes of it.
type Import struct {
	ID       string        `json:"id"`
	Tenant   string        `json:"tenant"`
	Name     string        `json:"name"` // of the file
	Status   Status        `json:"status"`
	Columns  []string      `json:"columns"`
	Mapping  sheet.Mapping `json:"mapping"`
	Match    string        `json:"match"` // id, externalId or email: the field by which contacts are found
	Samples  [][]string    `json:"samples"`
	Total    int           `json:"total"`    // rows
	Scanned  int           `json:"scanned"`  // rows that a check has read, before it counts what they would do
	Position int           `json:"position"` // rows that were checked or applied
	Counts   `json:"counts"`
	Refusals []Refusal `json:"refusals,omitempty"` // the first; of a check, too
	Created  string    `json:"createdAt"`
	Updated  string    `json:"updatedAt"`

	separator rune // of the sheet
}

// Counts is what became of rows, or would.
type Counts struct {
	RowsCreated   int `json:"created"`
	RowsUpdated   int `json:"updated"`
	RowsUnchanged int `json:"unchanged"`
	RowsRefused   int `json:"refused"`
}

// Refusal is a row that is not applied.
type Refusal struct {
	Row    int                     `json:"row"` // as a spreadsheet shows it: blank lines count
	Reason string                  `json:"reason"`
	Fields map[string]FieldRefusal `json:"fields,omitempty"` // those at fault

	cells []string
}

// FieldRefusal is why a row is not applied, for one of its fields.
type FieldRefusal struct {
	Value   string `json:"value"` // of the row; a long one is cut
	Message string `json:"message"`
}

const importColumns = "`id`, `tenant`, `name`, `status`, `columns`, `mapping`, `match`, `samples`, `separator`, `total`, `scanned`, `position`, `rowsCreated`, `rowsUpdated`, " +
	"`rowsUnchanged`, `rowsRefused`, `created`, `updated`"

// Find returns an import with its first refusals. The error is sql.ErrNoRows where there is none.
func Find(app core.App, id string) (*Import, error) {
	found, err := query(app, "`id` = ? AND `status` != 'storing'", id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, sql.ErrNoRows
	}
	found[0].Refusals, err = refusals(app, id, 0, maxShown)
	return found[0], err
}

// List returns the latest imports, the newest first, without their refusals.
func List(app core.App) ([]*Import, error) {
	return query(app, "`status` != 'storing' ORDER BY `id` DESC LIMIT ?", maxListed)
}

// busy returns the imports that wait to be worked on, the oldest first.
func busy(app core.App) ([]*Import, error) {
	return query(app, "`status` IN ('checking', 'running') AND EXISTS (SELECT 1 FROM `tenants` WHERE `tenants`.`id` = `tenant`) ORDER BY `id`")
}

func query(app core.App, where string, args ...any) ([]*Import, error) {
	found := []*Import{}
	err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), "SELECT "+importColumns+" FROM `_imports` WHERE "+where, func(rows *sql.Rows) error {
		i, columns, mapping, samples, separator := &Import{}, "", "", "", ""
		if err := rows.Scan(&i.ID, &i.Tenant, &i.Name, &i.Status, &columns, &mapping, &i.Match, &samples, &separator, &i.Total, &i.Scanned, &i.Position,
			&i.RowsCreated, &i.RowsUpdated, &i.RowsUnchanged, &i.RowsRefused, &i.Created, &i.Updated); err != nil {
			return err
		}
		i.separator, _ = utf8.DecodeRuneInString(separator)
		i.Created, i.Updated = stamp.Show(i.Created), stamp.Show(i.Updated)
		found = append(found, i)
		return errors.Join(json.Unmarshal([]byte(columns), &i.Columns), json.Unmarshal([]byte(mapping), &i.Mapping), json.Unmarshal([]byte(samples), &i.Samples))
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("reading imports: %w", err)
	}
	return found, nil
}

const refusalsSQL = "SELECT `row`, `reason`, `cells`, `fields` FROM `_importRefusals` WHERE `import` = ? AND `row` > ? ORDER BY `row` LIMIT ?"

// refusals returns up to limit refusals of an import behind a row.
func refusals(app core.App, id string, behind, limit int) (found []Refusal, err error) {
	err = sqlite.Each(sqlite.Direct(app.ConcurrentDB()), refusalsSQL, func(rows *sql.Rows) error {
		refusal, cells, fields := Refusal{}, "", ""
		if err := rows.Scan(&refusal.Row, &refusal.Reason, &cells, &fields); err != nil {
			return err
		}
		err := errors.Join(json.Unmarshal([]byte(cells), &refusal.cells), json.Unmarshal([]byte(fields), &refusal.Fields))
		found = append(found, refusal)
		return err
	}, id, behind, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the refusals of the import %s: %w", id, err)
	}
	return found, nil
}

// Check has what the import would do be counted in the background.
func Check(app core.App, id string, mapping sheet.Mapping, match string) error {
	return begin(app, id, Checking, mapping, match)
}

// Start has the rows of the import be applied in the background.
func Start(app core.App, id string, mapping sheet.Mapping, match string) error {
	return begin(app, id, Running, mapping, match)
}

// begin begins with the first row. The error is sql.ErrNoRows where there is no such import, and a *fault.Error where the mapping is
// wrong, or the import has begun or ended.
func begin(app core.App, id string, status Status, mapping sheet.Mapping, match string) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	if err := mapping.Check(app, len(i.Columns), match); err != nil {
		return err
	}
	encoded, err := json.Marshal(mapping)
	if err != nil {
		return err
	}
	changed, err := sqlite.Write(app, func(sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{{
			Text: "UPDATE `_imports` SET `status` = ?, `mapping` = ?, `match` = ?, `scanned` = 0, `position` = 0, `rowsCreated` = 0, `rowsUpdated` = 0, " +
				"`rowsUnchanged` = 0, `rowsRefused` = 0, `updated` = ? WHERE `id` = ? AND `status` IN ('new', 'checking', 'checked')",
			Args: []any{string(status), string(encoded), match, stamp.Stored(time.Now()), id},
		}, {
			// those of a check
			Text: "DELETE FROM `_importRefusals` WHERE `import` = ?1 AND EXISTS (SELECT 1 FROM `_imports` WHERE `id` = ?1 AND `position` = 0)",
			Args: []any{id},
		}}, nil
	})
	if err == nil && changed[0] == 0 {
		return fault.InvalidField("status", fault.CodeInvalidValue, "must be new or checked: the import has begun, or is over")
	}
	return err
}

// Cancel ends an import and forgets the rows that it has not applied. What it has applied stays. One that was checked ends as a dry run.
// The error is sql.ErrNoRows where there is no such import.
func Cancel(ctx context.Context, app core.App, id string) error {
	if _, err := Find(app, id); err != nil {
		return err
	}
	_, err := sqlite.Write(app, func(sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{{
			Text: "UPDATE `_imports` SET `status` = iif(`status` = 'checked', 'dryRun', 'cancelled'), `samples` = '[]', `updated` = ? " +
				"WHERE `id` = ? AND `status` NOT IN ('done', 'cancelled', 'dryRun')",
			Args: []any{stamp.Stored(time.Now()), id},
		}}, nil
	})
	if err != nil {
		return fmt.Errorf("cancelling the import %s: %w", id, err)
	}
	return sqlite.InChunks(ctx, app, forget)
}

// pruneSQL takes away rows of imports that are over, refusals of those that are forgotten, and these themselves.
var pruneSQL = []string{
	"DELETE FROM `_importRows` WHERE rowid IN (SELECT r.rowid FROM `_importRows` r LEFT JOIN `_imports` i ON i.`id` = r.`import` " +
		"WHERE i.`id` IS NULL OR i.`status` IN ('cancelled', 'dryRun') LIMIT {:limit})",
	"DELETE FROM `_importRefusals` WHERE rowid IN (SELECT r.rowid FROM `_importRefusals` r LEFT JOIN `_imports` i ON i.`id` = r.`import` " +
		"WHERE i.`id` IS NULL LIMIT {:limit})",
}

// storingLasts is for how long a sheet that somebody stores gets no further page at most. After that the client that stored it is gone.
const storingLasts = time.Hour

// Prune deletes up to limit rows of what has not changed since before and is not running, of sheets that nobody stores any more, and of
// what is cancelled. It returns how many went.
func Prune(tx core.App, limit int, before time.Time) (int, error) {
	_, err := tx.DB().NewQuery("DELETE FROM `_imports` WHERE `updated` < {:before} AND `status` NOT IN ('checking', 'running') OR `updated` < {:dead} AND `status` = 'storing'").
		Bind(dbx.Params{"before": stamp.Stored(before), "dead": stamp.Stored(time.Now().Add(-storingLasts))}).Execute()
	if err != nil {
		return 0, fmt.Errorf("pruning imports: %w", err)
	}
	return forget(tx, limit)
}

// forget deletes up to limit rows of what nobody needs any more and returns how many went.
func forget(tx core.App, limit int) (found int, err error) {
	for _, statement := range pruneSQL {
		result, err := tx.DB().NewQuery(statement).Bind(dbx.Params{"limit": limit - found}).Execute()
		if err != nil {
			return 0, fmt.Errorf("pruning imports: %w", err)
		}
		gone, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		found += int(gone)
	}
	return found, nil
}
