// Package imports writes the contacts of a spreadsheet, in the background and in small chunks. The database stores an
// import with its rows, and each chunk commits contacts together with the position that it has reached, so that no
// row is applied twice after a crash. A check, or dry run, plans the rows by the same code and remembers the planned
// contacts. It changes no contacts, but stores its progress, counts and refused rows with the import.
package imports

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/charset"
	"contactbase/internal/contact"
	"contactbase/internal/contact/custom"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// Status is the state of an import.
type Status string

// The statuses. An import whose rows are still being stored has none of them.
const (
	New         Status = "new"       // its rows are stored
	Checking    Status = "checking"  // a dry run is counting what it would do
	Checked     Status = "checked"   // the dry run is finished
	Running     Status = "running"   // its rows are being applied
	Done        Status = "done"      // all rows were applied
	Cancelled   Status = "cancelled" // the rows that were applied before stay
	OnlyChecked Status = "dryRun"    // it was checked, and ended without being applied
	Undoing     Status = "undoing"   // the contacts that it has created are being deleted
	Undone      Status = "undone"    // those that nothing has changed since are deleted

	storing Status = "storing"
)

// Kept is how long an import is kept after its last change, unless it is running.
const Kept = 7 * 24 * time.Hour

const (
	// maxShown is how many refusals, and how many notes, Find returns, the first ones. To these it adds those of the rows
	// that findings name, of maxShown findings.
	maxShown = 20

	// maxListed is the maximum number of imports that List returns.
	maxListed = 50
)

// Import is a file of contacts that is imported.
type Import struct {
	ID       string       `json:"id"`
	Tenant   string       `json:"tenant"`
	Name     string       `json:"name"` // of the file
	Format   sheet.Format `json:"-"`    // of the file
	Status   Status       `json:"status"`
	Headings int          `json:"headings"` // the number of the row that has the columns' names; 0 in vCards
	Above    []string     `json:"above"`    // the text of the rows above it
	Encoding string       `json:"encoding"` // of a text; "" of a workbook
	// the encodings that it may be in, the one by which it was read first; none if its encoding is certain
	Encodings []charset.Candidate `json:"encodings,omitempty"`
	Columns   []string            `json:"columns"`
	Ignored   []string            `json:"ignored"` // columns without a target
	Remarks   []sheet.Remark      `json:"remarks"` // about columns
	sheet.Choices
	Samples  [][]string `json:"samples"`
	Total    int        `json:"total"`    // rows
	Position int        `json:"position"` // rows that were checked or applied
	DryRun   bool       `json:"dryRun"`   // whether the counts are those of a check
	Counts   `json:"counts"`
	Undone   *Undo     `json:"undone,omitempty"`   // what an undo has done until now, nil before one
	Findings []Finding `json:"findings"`           // of the last check
	Refusals []Refusal `json:"refusals,omitempty"` // the first ones, also of a check
	Notes    []Note    `json:"notes,omitempty"`    // the first ones, also of a check
	Created  string    `json:"createdAt"`
	Updated  string    `json:"updatedAt"`

	ofFile []sheet.Remark // whatever the mapping
	styles []custom.Style // of the numbers and dates in the columns
	cursor string         // the id of the last contact that an undo has looked at
}

// Counts is the number of rows by result. A repeated row is counted in one of the others, too.
type Counts struct {
	RowsCreated   int `json:"created"`
	RowsUpdated   int `json:"updated"`
	RowsUnchanged int `json:"unchanged"`
	RowsRefused   int `json:"refused"`
	RowsSkipped   int `json:"skipped"`
	RowsRepeated  int `json:"repeated"` // whose contact an earlier row has changed
	Warnings      int `json:"warnings"`
}

// Refusal is a row that is not applied.
type Refusal struct {
	Row    int                     `json:"row"` // as a spreadsheet shows it: blank lines count
	Reason string                  `json:"reason"`
	Fields map[string]FieldRefusal `json:"fields,omitempty"` // the invalid ones

	cells []string
}

// FieldRefusal is why a row is not applied, for one of its fields.
type FieldRefusal struct {
	Value   string `json:"value"` // of the row; a long one is cut
	Message string `json:"message"`
}

const importColumns = "`id`, `tenant`, `name`, `status`, `columns`, `mapping`, " +
	"`match`, `existing`, `new`, `country`, `strict`, `headings`, `above`, `remarks`, `encoding`, `encodings`, " +
	"`samples`, `separator`, `total`, `position`, `rowsCreated`, `rowsUpdated`, " +
	"`rowsUnchanged`, `rowsRefused`, `rowsSkipped`, `rowsRepeated`, `warnings`, " +
	"`created`, `updated`, `styles`, `findings`, `undoCursor`, `undoDeleted`, `undoKept`"

// Find returns an import with its first refusals. The error is sql.ErrNoRows if there is no such import.
func Find(app core.App, id string) (*Import, error) {
	found, err := query(app, "`id` = ? AND `status` != 'storing'", id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, sql.ErrNoRows
	}
	if found[0].begins() {
		return found[0], nil
	}
	return found[0], found[0].readRows(app)
}

// endMargin is how much later than its import a contact may have been created: they read the time separately.
const endMargin = time.Minute

// Period returns the times between which an import of the tenant has created contacts. end is zero if it has not
// ended. The error is sql.ErrNoRows if the tenant has no such import.
func Period(app core.App, tenantID, id string) (start, end time.Time, err error) {
	found, err := query(app, "`id` = ? AND `tenant` = ?", id, tenantID)
	if err == nil && len(found) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return start, end, err
	}
	i := found[0]
	start = stamp.Parse(stamp.Store(i.Created))
	if slices.Contains([]Status{Done, Cancelled, Undone}, i.Status) {
		end = stamp.Parse(stamp.Store(i.Updated)).Add(endMargin)
	}
	return start, end, nil
}

// begins reports whether none of the rows has been checked or applied. It may still have what a check has found.
func (i *Import) begins() bool {
	return (i.Status == Checking || i.Status == Running) && i.Position == 0
}

// List returns the latest imports of a tenant, or of all if the id is "", the newest first, without their refusals.
func List(app core.App, tenantID string) ([]*Import, error) {
	if tenantID == "" {
		return query(app, "`status` != 'storing' ORDER BY `id` DESC LIMIT ?", maxListed)
	}
	return query(app, "`tenant` = ? AND `status` != 'storing' ORDER BY `id` DESC LIMIT ?", tenantID, maxListed)
}

func query(app core.App, where string, args ...any) ([]*Import, error) {
	found := []*Import{}
	text := "SELECT " + importColumns + " FROM `_imports` WHERE " + where
	err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), text, func(rows *sql.Rows) error {
		i, columns, mapping, samples, separator, above, remarks, styles := &Import{}, "", "", "", "", "", "", ""
		var encodings, findings string
		var undone Undo
		if err := rows.Scan(&i.ID, &i.Tenant, &i.Name, &i.Status, &columns, &mapping,
			&i.Match, &i.Existing, &i.New, &i.Country, &i.Strict, &i.Headings, &above, &remarks, &i.Encoding, &encodings,
			&samples, &separator, &i.Total, &i.Position, &i.RowsCreated, &i.RowsUpdated,
			&i.RowsUnchanged, &i.RowsRefused, &i.RowsSkipped, &i.RowsRepeated, &i.Warnings,
			&i.Created, &i.Updated, &styles, &findings, &i.cursor, &undone.Deleted, &undone.Kept); err != nil {
			return err
		}
		if separator != "" {
			character, _ := utf8.DecodeRuneInString(separator)
			i.Format = sheet.Format(character)
		}
		i.Created, i.Updated = stamp.Show(i.Created), stamp.Show(i.Updated)
		found = append(found, i)
		err := errors.Join(json.Unmarshal([]byte(columns), &i.Columns),
			json.Unmarshal([]byte(mapping), &i.Mapping), json.Unmarshal([]byte(samples), &i.Samples),
			json.Unmarshal([]byte(above), &i.Above), json.Unmarshal([]byte(remarks), &i.Remarks),
			json.Unmarshal([]byte(styles), &i.styles), json.Unmarshal([]byte(encodings), &i.Encodings),
			json.Unmarshal([]byte(findings), &i.Findings))
		i.Samples = samplesOf(i.Samples) // 1.0.0 stored whole cells
		i.ofFile = i.Remarks
		i.Remarks = append(slices.Clip(i.ofFile), i.Mapping.Remarks(i.Columns)...)
		if i.Status == Undoing || i.Status == Undone {
			i.Undone = &undone
		}
		i.Ignored = i.Mapping.Ignored(i.Columns)
		i.DryRun = i.Status == Checking || i.Status == Checked || i.Status == OnlyChecked
		return err
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("reading imports: %w", err)
	}
	return found, nil
}

// Check starts a dry run of the import in the background.
func Check(app core.App, id string, choices sheet.Choices) error {
	return begin(app, id, Checking, choices)
}

// Start starts to apply the rows of the import in the background, and writes that to the audit log.
func Start(app core.App, id string, choices sheet.Choices) error {
	return sqlite.Transact(context.Background(), app, "", true, func(tx core.App) error {
		if err := begin(tx, id, Running, choices); err != nil {
			return err
		}
		_, err := sqlite.Exec(tx, "UPDATE `_imports` SET `person` = ? WHERE `id` = ?", audit.Acting(tx).Name, id)
		if err != nil {
			return err
		}
		started, err := Find(tx, id)
		if err != nil {
			return err
		}
		return audit.Write(tx, audit.Entry{
			Tenant: started.Tenant, Action: audit.Imported, Collection: contact.CollectionName, Record: id,
		})
	})
}

// beginSQL begins with the first row. What is left of a check are the findings, if the same choices are started.
const beginSQL = "UPDATE `_imports` SET `status` = ?, `mapping` = ?, `match` = ?, " +
	"`existing` = ?, `new` = ?, `country` = ?, `strict` = ?, `position` = 0, " +
	"`rowsCreated` = 0, `rowsUpdated` = 0, `rowsUnchanged` = 0, `rowsRefused` = 0, " +
	"`rowsSkipped` = 0, `rowsRepeated` = 0, `warnings` = ?, `updated` = ?, `findings` = iif(?, `findings`, '[]') " +
	"WHERE `id` = ? AND `status` IN ('new', 'checking', 'checked')"

// begin begins with the first row. It uses the suggested mapping if the choices have none, and the tenant's country if
// they have none. The error is sql.ErrNoRows if there is no such import, and a *fault.Error if the choices are invalid,
// the import has been started before, or the tenant has no API access.
func begin(app core.App, id string, status Status, choices sheet.Choices) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	if err := tenant.Enabled(app, i.Tenant); err != nil {
		return err
	}
	if status == Running && len(i.Encodings) > 0 {
		return UnknownEncoding(i.Encodings)
	}
	if choices.Mapping == nil {
		choices.Mapping = i.Mapping
	}
	if choices.Country == "" {
		if choices.Country, err = tenant.CountryOf(app, i.Tenant); err != nil {
			return err
		}
	}
	if err := choices.Check(app, len(i.Columns)); err != nil {
		return err
	}
	mapping, err := json.Marshal(choices.Mapping)
	if err != nil {
		return err
	}
	i.Remarks = append(slices.Clip(i.ofFile), choices.Mapping.Remarks(i.Columns)...)
	isChecked := status == Running && i.Status == Checked && reflect.DeepEqual(choices, i.Choices)
	changed, err := sqlite.Exec(app, beginSQL,
		string(status), string(mapping), choices.Match, choices.Existing, choices.New,
		choices.Country, choices.Strict, i.columnWarnings(), stamp.Stored(time.Now()), isChecked, id)
	if err == nil && changed == 0 {
		return fault.InvalidField("status", fault.CodeInvalidValue, "must be new or checked: the import has started or ended")
	}
	return err
}

// forgetSQL deletes rows of an import in a table, unless the import has another status or position.
func forgetSQL(table string) string {
	return "DELETE FROM `" + table + "` WHERE rowid IN (SELECT rowid FROM `" + table + "` WHERE `import` = :import " +
		"AND EXISTS (SELECT 1 FROM `_imports` " +
		"WHERE `id` = :import AND `status` = :status AND `position` = :position) LIMIT :limit)"
}

// forget deletes what an earlier check, or one that was interrupted, has found in rows. It stops after a chunk when ctx
// ends, and reports whether nothing is left.
func (i *Import) forget(ctx context.Context, app core.App, chunks *sqlite.Chunks) (done bool, err error) {
	for _, table := range []string{"_importRefusals", "_importNotes"} {
		for more := true; more; {
			more, err = chunks.NextFor(i.Tenant, app, func(tx core.App, limit int) (int, error) {
				deleted, err := sqlite.Exec(tx, forgetSQL(table), sqlite.Named(map[string]any{
					"import": i.ID, "status": string(i.Status), "position": i.Position, "limit": limit,
				})...)
				if err != nil {
					return 0, fmt.Errorf("deleting what a check of the import %s has found: %w", i.ID, err)
				}
				return deleted, nil
			})
			if err != nil || more && ctx.Err() != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// UnknownEncoding returns the error that a file's encoding, of which there are candidates, must be chosen first.
func UnknownEncoding(candidates []charset.Candidate) *fault.Error {
	var choices []string
	for _, c := range candidates {
		choices = append(choices, fmt.Sprintf("%s (%s)", c.Encoding, strings.Join(c.Samples, ", ")))
	}
	return &fault.Error{Code: fault.UnknownEncoding, Message: "The encoding of the file is not certain. " +
		"Read it again with the encoding in which these cells are right: " + strings.Join(choices, "; ") + "."}
}

// columnWarnings returns the number of warnings about columns.
func (i *Import) columnWarnings() (warnings int) {
	for _, remark := range i.Remarks {
		if remark.IsWarning {
			warnings++
		}
	}
	return warnings
}

// Cancel ends an import and deletes the rows that are not applied. What was applied stays. An import that was checked
// ends as a dry run. The error is sql.ErrNoRows if there is no such import.
func Cancel(ctx context.Context, app core.App, id string) error {
	if _, err := Find(app, id); err != nil {
		return err
	}
	_, err := sqlite.Exec(app,
		"UPDATE `_imports` SET `status` = iif(`status` = 'checked', 'dryRun', 'cancelled'), `samples` = '[]', "+
			"`updated` = ? WHERE `id` = ? AND `status` IN ('new', 'checking', 'checked', 'running')",
		stamp.Stored(time.Now()), id)
	if err != nil {
		return fmt.Errorf("cancelling the import %s: %w", id, err)
	}
	return deleteUnneeded(ctx, app)
}
