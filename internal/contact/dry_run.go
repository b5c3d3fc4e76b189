package contact

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/contact/search"
	"contactbase/internal/extension"
	"contactbase/internal/sqlite"
)

// A dry run remembers up to so many contacts that its items have made or changed, and so many bytes of their values. In
// memory, 100,000 contacts with values in all shipped fields take about 60 MiB.
const (
	maxRemembered      = 100_000
	maxRememberedBytes = 64 << 20
)

// DryRun plans items without writing them. Each call sees what earlier calls would have made, unless
// these are too many.
type DryRun struct {
	Max int // how many contacts it remembers

	app    core.App
	hooks  []string // of extensions, before writes of contacts
	plan   *plan
	bytes  int  // of the contacts that it remembers
	forgot bool // whether there were more than it remembers
}

// NewDryRun begins a dry run.
func NewDryRun(app core.App, tenantID string) (*DryRun, error) {
	p, err := planOf(app, tenantID)
	if err != nil {
		return nil, fmt.Errorf("beginning a dry run: %w", err)
	}
	p.tx = sqlite.Direct(app.ConcurrentDB())
	return &DryRun{app: app, hooks: extension.Places(app, p.collection), plan: p, Max: maxRemembered}, nil
}

// Plan returns what the items would do: all of them, or if ctx ends meanwhile, the first ones, mostly at least one.
func (d *DryRun) Plan(ctx context.Context, items []Item) (results []Result, err error) {
	p := d.plan
	p.ended = ctx.Err
	if err := p.load(items); err != nil {
		return nil, err
	}
	for i := range items {
		planned := len(p.changes)
		result, err := p.next(i, &items[i])
		if err == nil && len(p.changes) > planned && len(d.hooks) > 0 {
			result, err = d.try(ctx, p.changes[planned], result)
		}
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
	d.forget()
	return results, nil //nolint:nilerr // the end of ctx is not an error: the other items are left
}

// sharedSQL finds the oldest contact of each address.
const sharedSQL = "SELECT j.`value`, coalesce((SELECT s.`contact` FROM `_contactSearch` s WHERE s.`tenant` = ?1 " +
	"AND s.`email` = j.`value` AND s.`email` != '' ORDER BY s.`seq` LIMIT 1), '') FROM json_each(?2) j"

// Shared returns which of the addresses, folded, the oldest stored contact with them still has after the items.
func (d *DryRun) Shared(addresses []string) (map[string]bool, error) {
	shared := map[string]bool{}
	err := sqlite.Each(d.plan.tx, sharedSQL, func(rows *sql.Rows) error {
		address, id := "", ""
		err := rows.Scan(&address, &id)
		made := d.plan.made.find(Key{ID, id})
		shared[address] = id != "" && (made == nil || search.FoldEmail(made.Email) == address)
		return err
	}, d.plan.tenantID, sqlite.List(addresses))
	if err != nil {
		return nil, fmt.Errorf("looking up the email addresses of a dry run: %w", err)
	}
	return shared, nil
}

// forget forgets what the next call does not need, and all contacts once they are too many.
func (d *DryRun) forget() {
	p := d.plan
	for _, c := range p.changes {
		if c.after != nil {
			d.bytes += c.after.size()
		}
	}
	p.changes, p.ahead, p.leads = nil, nil, nil
	if len(p.made.contacts) > d.Max || d.bytes > maxRememberedBytes {
		p.made, p.passed, p.taken, d.bytes, d.forgot = overlay{}, nil, nil, 0, true
	}
}

// Forgot reports whether the dry run has forgotten contacts: then it may take a contact for another one.
func (d *DryRun) Forgot() bool { return d.forgot }

// size returns about how many bytes the values of a contact take.
func (c *Contact) size() (bytes int) {
	for _, field := range Fields {
		bytes += len(field.Value(c))
	}
	for _, value := range c.stored {
		switch v := value.(type) {
		case string:
			bytes += len(v)
		case types.JSONRaw:
			bytes += len(v)
		}
	}
	return bytes
}
