package contact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
)

// Request is what a caller does to the contacts of a tenant in one transaction. Check and Finish may be called more than once, and must not
// change anything themselves.
type Request struct {
	Tenant string
	Items  []Item

	// Check is called first. It returns an error if the caller may no longer do this, or has done it already.
	Check func(tx sqlite.Reader) error

	// Finish returns the statements that the caller adds. With an error, nothing is written.
	Finish func(tx sqlite.Reader, results []Result) ([]sqlite.Statement, error)
}

// ShortRequest is how many items are written in a few milliseconds, so that they may share a commit with others.
const ShortRequest = 20

// Commit plans the items and writes them, once more if it meets an outdated collection: see custom.RetryOutdated. The error is ErrNoTenant if
// the tenant was deleted. ctx is that of sqlite.Transact.
func (r *Request) Commit(ctx context.Context, app core.App) error {
	return custom.RetryOutdated(app, func(app core.App) error {
		current, err := r.current(app)
		if err != nil {
			return err
		}
		return current.commit(ctx, app)
	})
}

// current returns the request for the current fields. The items may have been read with newer or older ones than those of the app: an item with
// an unknown field is invalid, unless the app's collection may be outdated.
func (r *Request) current(app core.App) (*Request, error) {
	s, err := schemaFor(app)
	if err != nil {
		return nil, err
	}
	current := *r
	for i := range r.Items {
		faults := s.unknown(r.Items[i].Changes)
		if faults == nil {
			continue
		}
		if custom.MayBeOutdated(app, faults) {
			return nil, faults
		}
		if &current.Items[0] == &r.Items[0] {
			current.Items = slices.Clone(r.Items)
		}
		current.Items[i].Wrong = fault.InvalidContact(faults)
	}
	return &current, nil
}

// unknown returns the errors of changes to fields that the schema does not have, nil if none.
func (s *schema) unknown(changes Changes) (faults fault.Fields) {
	for name := range changes {
		if FieldNamed(name) == nil && s.customField(name) == nil {
			if faults == nil {
				faults = fault.Fields{}
			}
			faults[name] = unknownField
		}
	}
	return faults
}

func (r *Request) commit(ctx context.Context, app core.App) error {
	if len(r.Items) == 1 && r.Items[0].Action != Delete {
		return r.commitOne(ctx, app)
	}
	return sqlite.Transact(ctx, app, r.Tenant, len(r.Items) <= ShortRequest, func(tx core.App) error {
		reader := sqlite.ReaderOf(tx)
		if err := r.Check(reader); err != nil {
			return err
		}
		results, err := Write(tx, r.Tenant, r.Items)
		if err != nil {
			return err
		}
		statements, err := r.Finish(reader, results)
		if err == nil {
			_, err = sqlite.Run(tx, statements)
		}
		return err
	})
}

// commitOne is Commit for one item that is not deleted. Its transaction needs no savepoint: see sqlite.Write. If an admin's unique index refuses the
// contact all the same, the item is planned again as invalid.
func (r *Request) commitOne(ctx context.Context, app core.App) error {
	item := r.Items[0]
	for {
		p, err := planOf(app, r.Tenant)
		if err != nil {
			return err
		}
		var rows runs
		var written []*change
		_, err = sqlite.WriteFor(ctx, app, r.Tenant, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
			attempt := *p
			attempt.tx = tx
			if err := r.Check(tx); err != nil {
				return nil, err
			}
			result, err := attempt.next(0, &item)
			if err != nil {
				return nil, err
			}
			written = attempt.changes
			if rows, err = p.rows(written); err != nil {
				return nil, err
			}
			effects, err := p.effects(written)
			if err != nil {
				return nil, err
			}
			finish, err := r.Finish(tx, []Result{result})
			return slices.Concat(rows.statements(), effects, finish), err
		})
		if err == nil {
			p.runHooks(app, written)
			return nil
		}
		_, wrong := p.refusal(rows, err)
		if wrong == nil {
			return err
		}
		item.Wrong = wrong
	}
}

// refusal returns which change an admin's unique index has refused, and the error of its item, nil if the error is another one.
func (p *plan) refusal(rows runs, err error) (change int, wrong *fault.Error) {
	var failed *sqlite.StatementError
	var faults fault.Fields
	if !errors.As(err, &failed) || failed.Statement >= len(rows) || !errors.As(p.refused(err), &faults) {
		return 0, nil
	}
	return rows.before(failed.Statement, failed.Done), fault.InvalidContact(faults)
}

// Write plans the items and writes them in the transaction of tx. An item that fails writes nothing.
func Write(tx core.App, tenantID string, items []Item) ([]Result, error) {
	return WriteUntil(tx, tenantID, items, func() bool { return false })
}

// WriteUntil is Write, and ends with the item after which due reports true. It returns the results of the items up to
// that one.
func WriteUntil(tx core.App, tenantID string, items []Item, due func() bool) ([]Result, error) {
	w := &writer{tx: tx, tenantID: tenantID, items: items, due: due, results: make([]Result, len(items)), window: len(items)}
	var err error
	if w.related, err = isRelated(tx); err != nil {
		return nil, err
	}
	for w.done < len(items) && !w.ended {
		if err := w.plan(); err != nil {
			return nil, err
		}
	}
	return w.results[:w.done], nil
}

// writer writes items in a transaction.
type writer struct {
	tx       core.App
	tenantID string
	related  bool // whether a relation of an admin's leads to contacts: a deletion may change or delete others
	items    []Item
	results  []Result
	done     int // items that are written
	window   int // items that are planned at a time

	due   func() bool
	ended bool // whether due has reported true
}

// refusedWindow is how many items are planned at a time once the database has refused one: each refusal plans the rest of them again.
const refusedWindow = 20

// plan plans and writes the items that are not yet written, up to a deletion that may have effects on others, or until the database refuses one.
func (w *writer) plan() error {
	p, err := planOf(w.tx, w.tenantID)
	if err != nil {
		return err
	}
	p.tx = sqlite.ReaderOf(w.tx)
	end := min(len(w.items), w.done+w.window)
	if next := slices.IndexFunc(w.items[w.done:end], func(item Item) bool { return item.Action == Delete }); w.related && next >= 0 {
		end = w.done + next + 1
	}
	if err := p.load(w.items[w.done:end]); err != nil {
		return err
	}
	for i := w.done; i < end; i++ {
		if w.results[i], err = p.next(i, &w.items[i]); err != nil {
			return fmt.Errorf("planning item %d: %w", i, err)
		}
		if w.due() {
			w.ended, end = true, i+1
		}
		if w.results[i].Status != Deleted {
			continue
		}
		if written, err := w.flush(p, i); err != nil || !written {
			return err
		}
		if err := w.delete(i); err != nil {
			return err
		}
	}
	_, err = w.flush(p, end)
	return err
}

// flush writes the changes that the plan has decided, and reports whether it wrote all of them: then all items before upTo are done. If the
// database refuses a contact, its item fails, and only the items before it are done.
func (w *writer) flush(p *plan, upTo int) (bool, error) {
	written := p.changes
	p.changes = nil
	rows, err := p.rows(written)
	if err != nil {
		return false, err
	}
	_, err = sqlite.Run(w.tx, rows.statements())
	refused, wrong := p.refusal(rows, err)
	switch {
	case wrong != nil: // SQLite has undone only this row
		item := written[refused].item
		w.results[item], upTo, written, w.window = failed(wrong), item+1, written[:refused], refusedWindow
	case err != nil:
		return false, fmt.Errorf("writing %d contacts: %w", len(written), err)
	}
	effects, err := p.effects(written)
	if err == nil {
		_, err = sqlite.Run(w.tx, effects)
	}
	if err != nil {
		return false, fmt.Errorf("writing the search rows and events of %d contacts: %w", len(written), err)
	}
	p.runHooks(w.tx, written)
	w.done = upTo
	return wrong == nil, nil
}

// delete deletes the contact of an item through its record, for PocketBase's cascade and hooks. The item fails if a relation of an admin's forbids
// it.
func (w *writer) delete(i int) error {
	w.done = i + 1
	remove := func() error { return deleteRecord(w.tx, w.tenantID, w.results[i].Contact.ID, "") }
	if !w.related {
		return remove()
	}
	err := sqlite.Savepoint(w.tx, remove)
	var used *fault.Error
	if errors.As(err, &used) && used.Code == fault.InUse {
		w.results[i] = failed(used)
		return nil //nolint:nilerr // the item fails, the others continue
	}
	return err
}

// Preview returns what the items would do, and writes nothing. A deletion counts without what it would do to related records.
func Preview(app core.App, tenantID string, items []Item) ([]Result, error) {
	p, err := planOf(app, tenantID)
	if err != nil {
		return nil, err
	}
	p.tx = sqlite.Direct(app.ConcurrentDB())
	if err := p.load(items); err != nil {
		return nil, err
	}
	results := make([]Result, len(items))
	for i := range items {
		if results[i], err = p.preview(app, i, &items[i]); err != nil {
			return nil, fmt.Errorf("planning item %d: %w", i, err)
		}
	}
	return results, nil
}

func (p *plan) preview(app core.App, i int, item *Item) (Result, error) {
	result, err := p.next(i, item)
	if err != nil || result.Status != Deleted {
		return result, err
	}
	record := core.NewRecord(p.collection)
	record.Id = result.Contact.ID
	var used *fault.Error
	if err = relation.CheckUnused(app, record); errors.As(err, &used) {
		p.made.put(nil, result.Contact)
		return failed(used), nil //nolint:nilerr // the item fails, the others continue
	}
	return result, err
}

// runHooks runs PocketBase's hooks for saved records, so that subscribers receive the contacts that were written: now, or after the commit
// of the app's transaction. By then the app of the transaction is closed: Bind replaces it by one that is open. A hook that fails is
// logged: the contacts are written, and with an error the caller would write them again.
func (p *plan) runHooks(app core.App, written []*change) {
	trigger := func(failure error) error {
		if failure != nil {
			return nil //nolint:nilerr // nothing was written, and the writer has the error
		}
		for _, c := range written {
			if err := p.trigger(app, c); err != nil {
				app.Logger().Error("a hook failed after a contact was written", "contact", c.after.ID, "error", err)
			}
		}
		return nil
	}
	if transaction := app.TxInfo(); transaction != nil {
		transaction.OnComplete(trigger)
		return
	}
	_ = trigger(nil)
}

func (p *plan) trigger(app core.App, c *change) error {
	e := &core.ModelEvent{Context: context.Background(), Type: core.ModelEventTypeCreate}
	e.App = app
	record := c.record
	if record == nil {
		var err error
		if record, err = p.recordOf(p.tenantID, c.before); err != nil {
			return err
		}
	}
	p.fill(record, p.tenantID, c.after)
	record.MarkAsNotNew()
	e.Model = record
	if c.before == nil {
		return app.OnModelAfterCreateSuccess().Trigger(e)
	}
	e.Type = core.ModelEventTypeUpdate
	return app.OnModelAfterUpdateSuccess().Trigger(e)
}

// fill sets the record's fields to those of the contact.
func (s *schema) fill(record *core.Record, tenantID string, c *Contact) {
	record.Id = c.ID
	record.SetRaw("tenant", tenantID)
	for _, field := range Fields {
		record.SetRaw(field.Name, *field.of(c))
	}
	for name, shown := range map[string]string{"created": c.Created, "updated": c.Updated} {
		at, _ := time.Parse(time.RFC3339, shown) // written by this program, so it is valid
		setTime(record, name, at)
	}
}
