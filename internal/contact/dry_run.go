package contact

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// DryRun plans items without writing them. Each call sees what earlier calls would have made. A temporary database keeps these contacts between the
// calls, so memory does not grow with their number.
type DryRun struct {
	plan   *plan
	folder string // of the temporary database
}

// NewDryRun begins a dry run. The caller closes it.
func NewDryRun(app core.App, tenantID string) (_ *DryRun, err error) {
	d := &DryRun{}
	defer func() {
		if err != nil {
			err = fmt.Errorf("beginning a dry run: %w", errors.Join(err, d.Close()))
		}
	}()
	if d.plan, err = planOf(app, tenantID); err != nil {
		return nil, err
	}
	d.plan.tx = sqlite.Direct(app.ConcurrentDB())
	if d.folder, err = os.MkdirTemp(app.DataDir(), dryRunPrefix+"*"); err != nil {
		return nil, err
	}
	if d.plan.earlier, err = sql.Open("sqlite", filepath.Join(d.folder, "contacts.db")); err != nil {
		return nil, err
	}
	d.plan.earlier.SetMaxOpenConns(1)
	if err := d.makeTables(); err != nil {
		return nil, err
	}
	_ = os.RemoveAll(d.folder) // while its file is open, so that nothing is left after a kill; Windows removes it only in Close
	return d, nil
}

// dryRunPrefix begins the names of folders that backups leave out.
const dryRunPrefix = ".contactbase.dry-run-"

const tablesSQL = "SELECT `sql` FROM `sqlite_schema` WHERE `sql` IS NOT NULL AND " +
	"(`name` IN ('contacts', 'idx_contacts_phone') OR `tbl_name` = 'contacts' AND `sql` LIKE 'CREATE UNIQUE%') " +
	"ORDER BY `type` DESC" // tables first

// ownTables are the tables that data.db does not have, or has otherwise. As contacts are kept in any order, `seq` is
// not the number of a search row but what has the same order: the time of the contact's creation, and its id.
var ownTables = []string{
	"CREATE TABLE `marked` (`contact` TEXT PRIMARY KEY, `number` INTEGER NOT NULL) WITHOUT ROWID",
	"CREATE TABLE `passed` (`key` TEXT PRIMARY KEY, `contact` TEXT NOT NULL) WITHOUT ROWID",
	"CREATE TABLE `_contactSearch` (`contact` TEXT PRIMARY KEY, `seq` TEXT NOT NULL, `tenant` TEXT NOT NULL, " +
		"`email` TEXT NOT NULL) WITHOUT ROWID",
	"CREATE INDEX `idx__contactSearch_email` ON `_contactSearch` (`tenant`, `email`, `seq`) WHERE `email` != ''",
}

// makeTables makes the table of contacts as it is in data.db, and ownTables.
func (d *DryRun) makeTables() error {
	definitions, err := sqlite.Values[string](d.plan.tx, tablesSQL)
	if err != nil {
		return err
	}
	pragmas := []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF"}
	for _, statement := range slices.Concat(pragmas, ownTables, definitions) {
		if _, err := d.plan.earlier.ExecContext(context.Background(), statement); err != nil {
			return err
		}
	}
	return nil
}

// Plan returns what the items would do: all of them, or if ctx ends meanwhile, the first ones, mostly at least one.
func (d *DryRun) Plan(ctx context.Context, items []Item) (results []Result, err error) {
	p := d.plan
	p.ended = ctx.Err
	if err := p.load(items); err != nil {
		return nil, err
	}
	for i := range items {
		result, err := p.next(i, &items[i])
		if err != nil && ctx.Err() != nil {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("planning item %d: %w", i, err)
		}
		if results = append(results, result); ctx.Err() != nil {
			break
		}
	}
	if err := d.keep(); err != nil {
		return nil, fmt.Errorf("keeping the contacts of a dry run: %w", err)
	}
	return results, nil
}

// keep moves what the items have made, and how far their look-ups came, to the temporary database.
func (d *DryRun) keep() error {
	p := d.plan
	tx, err := p.earlier.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after the commit
	passed, err := json.Marshal(p.passed)
	if err != nil {
		return err
	}
	ids := sqlite.List(slices.Collect(maps.Keys(p.made.contacts)))
	for _, s := range []sqlite.Statement{
		{Text: "DELETE FROM `contacts` WHERE `id` IN (SELECT `value` FROM json_each(?))", Args: []any{ids}},
		{Text: "DELETE FROM `_contactSearch` WHERE `contact` IN (SELECT `value` FROM json_each(?))", Args: []any{ids}},
		{Text: "INSERT OR REPLACE INTO `passed` SELECT `key`, `value` FROM json_each(?)", Args: []any{string(passed)}},
	} {
		if _, err := tx.ExecContext(context.Background(), s.Text, s.Args...); err != nil {
			return err
		}
	}
	if err := p.keepChanges(tx); err != nil {
		return err
	}
	p.changes, p.made = nil, overlay{}
	return tx.Commit()
}

// keepChanges writes the contacts as the last changes have left them.
func (p *plan) keepChanges(tx *sql.Tx) error {
	last := map[string]*change{}
	for _, c := range p.changes {
		last[c.after.ID] = c
	}
	prepared := map[string]*sql.Stmt{}
	for _, c := range last {
		row, err := p.insertRow(c)
		if err != nil {
			return err
		}
		found := sqlite.Statement{
			Text: "INSERT INTO `_contactSearch` (`contact`, `seq`, `tenant`, `email`) VALUES (?, ?, ?, ?)",
			Args: []any{c.after.ID, c.after.Created + " " + c.after.ID, p.tenantID, search.FoldEmail(c.after.Email)},
		}
		for _, s := range []sqlite.Statement{row, found} {
			if prepared[s.Text] == nil {
				if prepared[s.Text], err = tx.PrepareContext(context.Background(), s.Text); err != nil {
					return err
				}
			}
			if _, err := prepared[s.Text].ExecContext(context.Background(), s.Args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// Mark marks contacts with numbers, and returns the numbers of those that were marked before.
func (d *DryRun) Mark(numbers map[string]int) (before map[string]int, err error) {
	encoded, err := json.Marshal(numbers)
	if err != nil {
		return nil, err
	}
	before = map[string]int{}
	err = sqlite.Each(d.plan.earlier, "SELECT `contact`, `number` FROM `marked` WHERE `contact` IN (SELECT `key` FROM json_each(?))", func(rows *sql.Rows) error {
		contact, number := "", 0
		err := rows.Scan(&contact, &number)
		before[contact] = number
		return err
	}, string(encoded))
	if err == nil {
		_, err = d.plan.earlier.ExecContext(context.Background(), "INSERT OR IGNORE INTO `marked` SELECT `key`, `value` FROM json_each(?)", string(encoded))
	}
	return before, err
}

// Close ends the dry run.
func (d *DryRun) Close() error {
	var err error
	if d.plan != nil && d.plan.earlier != nil {
		err = d.plan.earlier.Close()
	}
	if d.folder != "" {
		err = errors.Join(err, os.RemoveAll(d.folder))
	}
	return err
}
