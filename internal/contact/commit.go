package contact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/extension"
	"contactbase/internal/fault"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
)

// Request is what a caller does to the contacts of a tenant in one transaction. Check and Finish may be called several
// times. They write nothing themselves; what they note for their caller counts once Commit returns.
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

// Commit plans the items and writes them, once more if it meets an outdated collection: see custom.RetryOutdated. The
// error is ErrNoTenant if the tenant was deleted. ctx is that of sqlite.Transact.
func (r *Request) Commit(ctx context.Context, app core.App) error {
	return custom.RetryOutdated(app, func(app core.App) error {
		current, err := r.current(app)
		if err != nil {
			return err
		}
		return current.commit(ctx, app)
	})
}

// current returns the request for the current fields. The items may have been read with newer or older ones than
// those of the app: an item with an unknown field is invalid, unless the app's collection may be outdated.
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

// commit is Commit with current fields. One item that is not deleted can use sqlite.Through: SQLite may only refuse its
// row, which is the first statement.
func (r *Request) commit(ctx context.Context, app core.App) error {
	w, err := newWriter(app, r.Tenant, r.Items)
	if err != nil {
		return err
	}
	write := func(tx transaction) error {
		if err := r.Check(tx.db); err != nil {
			return err
		}
		w.finish = func(results []Result) ([]sqlite.Statement, error) { return r.Finish(tx.db, results) }
		return w.write(tx)
	}
	if len(r.Items) == 1 && r.Items[0].Action != Delete && len(w.hooks) == 0 {
		err = sqlite.Through(ctx, app, r.Tenant, func(tx sqlite.Tx) error { return write(transaction{db: tx}) })
	} else {
		isShort := len(r.Items) <= ShortRequest && len(w.hooks) == 0
		err = sqlite.Transact(ctx, app, r.Tenant, isShort, func(tx core.App) error { return write(inApp(tx)) })
	}
	if err == nil {
		announce(app, r.Tenant, w.base.schema, w.written)
	}
	return err
}

// Write plans the items and writes them in the transaction of tx. An item that fails writes nothing.
func Write(tx core.App, tenantID string, items []Item) ([]Result, error) {
	return WriteUntil(tx, tenantID, items, func() bool { return false })
}

// WriteUntil is Write, and ends with the item after which due reports true. It returns the results of the items up to
// that one.
func WriteUntil(tx core.App, tenantID string, items []Item, due func() bool) ([]Result, error) {
	w, err := newWriter(tx, tenantID, items)
	if err != nil {
		return nil, err
	}
	w.due = due
	if err := w.write(inApp(tx)); err != nil {
		return nil, err
	}
	announce(tx, tenantID, w.base.schema, w.written)
	return w.results[:w.done], nil
}

// writer writes items in a transaction, which may be repeated.
type writer struct {
	base    *plan // lacks its reader
	items   []Item
	hooks   []string                                   // of extensions, before writes of contacts
	related bool                                       // whether a deletion may change or delete other contacts
	due     func() bool                                // reports whether the time is over
	finish  func([]Result) ([]sqlite.Statement, error) // returns statements to add

	results []Result
	done    int  // items that are written
	window  int  // items that are planned at a time
	ended   bool // whether due has reported true
	written []*change
}

// refusedWindow is how many items are planned at a time once the database has refused one: each refusal plans the
// rest of them again.
const refusedWindow = 20

func newWriter(app core.App, tenantID string, items []Item) (w *writer, err error) {
	w = &writer{
		items:  items,
		due:    func() bool { return false },
		finish: func([]Result) ([]sqlite.Statement, error) { return nil, nil },
	}
	if w.base, err = planOf(app, tenantID); err != nil {
		return nil, err
	}
	w.hooks = extension.Places(app, w.base.collection)
	if slices.ContainsFunc(items, isDeletion) {
		w.related, err = relation.Exists(app, w.base.collection)
	}
	return w, err
}

func isDeletion(item Item) bool { return item.Action == Delete }

// write plans and writes all items. What follows a deletion that may have effects on others, or a contact
// that the database refuses, is planned again. It adds the statements of finish, which it calls before it
// writes the last ones.
func (w *writer) write(tx transaction) error {
	if len(w.hooks) > 0 {
		return w.writeRecords(tx)
	}
	w.results, w.done, w.window, w.written = make([]Result, len(w.items)), 0, len(w.items), nil
	for {
		p, planned, err := w.next(tx.db)
		if err != nil {
			return err
		}
		var added []sqlite.Statement
		isLast := planned == len(w.items) || w.ended
		if isLast {
			if added, err = w.finish(w.results[:planned]); err != nil {
				return err
			}
		}
		written, refused, err := execute(tx, p)
		if err != nil {
			return err
		}
		w.written = append(w.written, p.changes[:written]...)
		if refused != nil {
			item := p.changes[written].item
			w.results[item], w.done, w.window = failed(refused), item+1, refusedWindow
			if !w.ended {
				continue
			}
			return nil
		}
		if w.done = planned; isLast {
			_, err := tx.db.Run(added)
			return err
		}
	}
}

// next plans the items that are not written, up to a deletion that may have effects on others. It returns how many
// items are planned then.
func (w *writer) next(tx sqlite.Tx) (p *plan, end int, err error) {
	p, end = w.base.with(tx), min(len(w.items), w.done+w.window)
	if next := slices.IndexFunc(w.items[w.done:end], isDeletion); w.related && next >= 0 {
		end = w.done + next + 1
	}
	if end-w.done > 1 {
		if err := p.load(w.items[w.done:end]); err != nil {
			return nil, 0, err
		}
	}
	for i := w.done; i < end; i++ {
		if w.results[i], err = p.next(i, &w.items[i]); err != nil {
			return nil, 0, fmt.Errorf("planning item %d: %w", i, err)
		}
		if w.due() {
			w.ended, end = true, i+1
		}
	}
	return p, end, nil
}

// Preview returns what the items would do, and writes nothing. A deletion counts without what it would do
// to related records.
func Preview(app core.App, tenantID string, items []Item) ([]Result, error) {
	p, err := planOf(app, tenantID)
	if err != nil {
		return nil, err
	}
	if extension.Bound(app, p.collection) {
		var results []Result
		err = previewRecords(context.Background(), app, tenantID, func(tx core.App) (err error) {
			results, err = Write(tx, tenantID, items)
			return err
		})
		return results, err
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
