package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/webhook/filter"
)

// subscribersSQL reads the webhooks of the tenant ?1 in the order of their rows, and whether nothing may be sent to
// them. A deleted tenant has none, although their rows may remain for a while.
const subscribersSQL = "SELECT w.`id`, w.`disabled` OR NOT t.`apiEnabled`, w.`events`, w.`filter` " +
	"FROM `tenants` t CROSS JOIN `webhooks` w ON w.`tenant` = t.`id` WHERE t.`id` = ?1 ORDER BY w.rowid"

// subscriber is what decides which events a webhook receives.
type subscriber struct {
	id     string
	closed bool     // it is disabled, or its tenant lacks the feature
	kinds  []string // none for those about contacts
	text   string   // of the filter
	filter *filter.Filter
}

// wants reports whether the webhook asks for events of a kind. A ping has its delivery from the beginning.
func (sub *subscriber) wants(kind event.Kind) bool {
	switch {
	case kind == event.WebhookPing:
		return false
	case len(sub.kinds) == 0:
		return kind.ByDefault()
	default:
		return slices.Contains(sub.kinds, string(kind))
	}
}

// passes reports whether an event passes the filter, and adds the steps. An event passes if it could not be parsed, the
// filter fails, or the steps would be more than filter.MaxSteps.
func (sub *subscriber) passes(event *filter.Event, steps *int) bool {
	if sub.filter == nil || event == nil {
		return true
	}
	if *steps += sub.filter.Steps(event); *steps > filter.MaxSteps {
		return true
	}
	matches, _ := sub.filter.Match(event)
	return matches
}

// audience is the webhooks of a tenant, in the order of their rows.
type audience struct {
	version     int64
	subscribers []*subscriber
}

// readAudience reads the webhooks of a tenant. It compiles only the filters that are not among the known ones.
func readAudience(tx sqlite.Reader, tenant string, version int64, known []*subscriber) (audience, error) {
	compiled := make(map[string]*subscriber, len(known))
	for _, sub := range known {
		compiled[sub.id] = sub
	}
	a := audience{version: version}
	err := sqlite.Each(tx, subscribersSQL, func(rows *sql.Rows) error {
		sub := &subscriber{}
		var kinds []byte
		if err := rows.Scan(&sub.id, &sub.closed, &kinds, &sub.text); err != nil {
			return err
		}
		_ = json.Unmarshal(kinds, &sub.kinds) // '' for none
		if before := compiled[sub.id]; before != nil && before.text == sub.text {
			sub.filter = before.filter
		} else if sub.text != "" {
			sub.filter, _ = filter.Compile(sub.text) // without one that works, all events pass
		}
		a.subscribers = append(a.subscribers, sub)
		return nil
	}, tenant)
	if err != nil {
		return a, fmt.Errorf("reading the webhooks of the tenant %s: %w", tenant, err)
	}
	return a, nil
}

// find returns the webhook with that id, and its position among those of the tenant; -1 for none.
func (a audience) find(id string) int {
	return slices.IndexFunc(a.subscribers, func(sub *subscriber) bool { return sub.id == id })
}

const (
	minAudiences = 1_000
	warnEvery    = time.Hour
)

// directory caches the webhooks of tenants by their version.
type directory struct {
	tenants func() ([]string, error) // the ids of all that exist

	mu        sync.Mutex
	audiences map[string]audience  // by tenant
	limit     int                  // of audiences, before those of deleted tenants are dropped
	warned    map[string]time.Time // by tenant
}

func newDirectory(tenants func() ([]string, error)) *directory {
	return &directory{
		tenants: tenants, audiences: map[string]audience{}, limit: minAudiences, warned: map[string]time.Time{},
	}
}

// audience returns the webhooks of a tenant in a version, which the transaction sees.
func (d *directory) audience(tx sqlite.Reader, tenant string, version int64) (audience, error) {
	d.mu.Lock()
	known := d.audiences[tenant]
	d.mu.Unlock()
	if known.version == version {
		return known, nil
	}
	a, err := readAudience(tx, tenant, version, known.subscribers)
	if err == nil {
		d.keep(tenant, a)
	}
	return a, err
}

func (d *directory) keep(tenant string, a audience) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.audiences[tenant] = a
	if len(d.audiences) <= d.limit {
		return
	}
	ids, err := d.tenants()
	if err != nil {
		return // with the next one
	}
	left := make(map[string]audience, len(ids))
	for _, id := range ids {
		if known, found := d.audiences[id]; found {
			left[id] = known
		}
	}
	d.audiences, d.limit = left, 2*len(ids)+minAudiences
}

// warns reports whether to warn about the filters of a tenant: at most once in warnEvery.
func (d *directory) warns(tenant string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.warned[tenant]) < warnEvery {
		return false
	}
	d.warned[tenant] = now
	return true
}
