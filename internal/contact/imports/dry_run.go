package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// dryRun counts what an import would do to the contacts as they are now.
type dryRun struct {
	*Import
	app core.App
	run *contact.DryRun

	counts   Counts
	findings *findings
	rows     map[string]int // by the id of a contact, the first row that has it
	found    outcome        // that is not yet stored
	position int            // rows that were counted
	stored   int            // the position in the database
}

// dryRun begins a dry run. The error is errMoved while another process is working on it.
func (i *Import) dryRun(app core.App) (*dryRun, error) {
	if updated, err := time.Parse(time.RFC3339, i.Updated); err == nil && i.Position > 0 && time.Since(updated) < idle {
		return nil, errMoved
	}
	run, err := contact.NewDryRun(app, i.Tenant)
	if err != nil {
		return nil, err
	}
	return &dryRun{
		Import: i, app: app, run: run, stored: i.Position,
		rows: map[string]int{}, counts: Counts{Warnings: i.columnWarnings()}, findings: newFindings(),
	}, nil
}

// isOf reports whether the dry run belongs to the import as it is stored. The import may have been checked again
// with another mapping.
func (d *dryRun) isOf(i *Import) bool {
	return d.ID == i.ID && i.Status == Checking && d.stored == i.Position && reflect.DeepEqual(d.Choices, i.Choices)
}

// next counts the next page, or the rows that it reaches before ctx ends, and stores the result. It returns Checked
// after the last page.
func (d *dryRun) next(ctx context.Context) (Status, error) {
	status, err := d.count(ctx)
	if err != nil {
		return "", err
	}
	return status, d.store(status)
}

func (d *dryRun) count(ctx context.Context) (Status, error) {
	p, err := d.readPage(d.app, d.position)
	if err != nil {
		return "", err
	}
	if p == nil {
		return Checked, nil
	}
	results, err := d.run.Plan(ctx, p.items)
	if err != nil {
		return "", fmt.Errorf("checking rows of the import %s: %w", d.ID, err)
	}
	d.found, err = d.outcome(p, 0, results, d.repeats)
	if err != nil {
		return "", err
	}
	d.position += len(results)
	return Checking, d.find(p, results)
}

// find adds what is found in some rows of a page.
func (d *dryRun) find(p *page, results []contact.Result) error {
	shared, err := d.run.Shared(newAddresses(results))
	if err != nil {
		return err
	}
	for _, found := range d.found.problems {
		d.findings.add(found)
	}
	for n, result := range results {
		c := result.Contact
		if result.Wrong != nil && !d.Skips(result) {
			c = nil
		}
		text := ""
		if d.findings.compare(p.numbers[n], &p.items[n], d.idsOf(&p.items[n], p.cells[n]), c) {
			text = sharedAddress
		}
		if result.Status == contact.Created && shared[search.FoldEmail(c.Email)] {
			d.findings.add(problem{p.numbers[n], sheet.SharedEmail, contact.Email, false})
			text = takenAddress
		}
		if text != "" {
			d.found.note(note{p.numbers[n], []string{text}, c.ID, p.cells[n]})
		}
	}
	return nil
}

// The notes about a row that shares its email address with an earlier one or with a contact, but is another contact.
const (
	sharedAddress = "email: an earlier row with this address is another contact"
	takenAddress  = "email: another contact has this address"
)

// newAddresses returns the email addresses, folded, of the contacts that rows create.
func newAddresses(results []contact.Result) (addresses []string) {
	for _, result := range results {
		if result.Status == contact.Created && result.Contact.Email != "" {
			addresses = append(addresses, search.FoldEmail(result.Contact.Email))
		}
	}
	return addresses
}

// note adds to the notes about a row.
func (o *outcome) note(more note) {
	at, found := slices.BinarySearchFunc(o.notes, more.row, func(n note, row int) int { return cmp.Compare(n.row, row) })
	if found {
		o.notes[at].texts = append(o.notes[at].texts, more.texts...)
		return
	}
	o.notes = slices.Insert(o.notes, at, more)
}

// idsOf returns the ids that a row has, by their fields.
func (d *dryRun) idsOf(item *contact.Item, cells []string) map[string]string {
	ids := map[string]string{}
	for _, field := range []string{contact.ID, contact.ExternalID} {
		id, _ := item.Changes[field].(string)
		if id = cmp.Or(id, strings.TrimSpace(d.Mapping.Value(field, cells))); id != "" {
			ids[field] = id
		}
	}
	return ids
}

// repeats returns the earlier rows that have had the contacts of rows, and keeps these rows.
func (d *dryRun) repeats(rows map[string]int) (map[string]int, error) {
	earlier := map[string]int{}
	for id, row := range rows {
		if first, found := d.rows[id]; found {
			earlier[id] = first
		} else {
			d.rows[id] = row
		}
	}
	return earlier, nil
}

// stillSQL reports whether nobody has started, cancelled or checked the import meanwhile, and its tenant still has API
// access.
const stillSQL = "SELECT EXISTS (SELECT 1 FROM `_imports` WHERE " + isEnabled +
	" AND `id` = ? AND `status` = 'checking' " +
	"AND `position` = ? AND `mapping` = ? AND `match` = ? " +
	"AND `existing` = ? AND `new` = ? AND `country` = ? AND `strict` = ?)"

// estimate is the note of an import whose check is not exact.
const estimate = "the rows create or change more contacts than a dry run remembers, so its counts are estimates"

// store stores the position and what was counted. The error is errMoved if somebody has started, cancelled or checked
// the import meanwhile.
func (d *dryRun) store(status Status) error {
	mapping, err := json.Marshal(d.Mapping)
	if err != nil {
		return err
	}
	statements, err := d.inserts(d.found)
	if err != nil {
		return err
	}
	if d.run.Forgot() {
		estimated, err := d.noteInserts([]note{{row: d.Headings, texts: []string{estimate}}})
		if err != nil {
			return err
		}
		statements = append(statements, estimated...)
	}
	findings, err := d.findings.encoded()
	if err != nil {
		return err
	}
	d.counts.addAll(d.found.Counts)
	_, err = sqlite.Write(d.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		still, err := sqlite.Value[bool](tx, stillSQL, d.ID, d.stored,
			string(mapping), d.Match, d.Existing, d.New, d.Country, d.Strict)
		if err == nil && !still {
			err = errMoved
		}
		return append([]sqlite.Statement{{
			Text: "UPDATE `_imports` SET `rowsCreated` = ?, `rowsUpdated` = ?, `rowsUnchanged` = ?, " +
				"`rowsRefused` = ?, `rowsSkipped` = ?, `rowsRepeated` = ?, `warnings` = ?, " +
				"`findings` = ?, `status` = ?, `position` = ?, `updated` = ? WHERE `id` = ?",
			Args: append(d.counts.args(), findings, string(status), d.position, stamp.Stored(time.Now()), d.ID),
		}}, statements...), err
	})
	if err != nil {
		return fmt.Errorf("storing the progress of the dry run of the import %s: %w", d.ID, err)
	}
	d.found, d.stored = outcome{}, d.position
	return nil
}
