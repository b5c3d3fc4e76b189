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

// hooksSQL reads the webhooks of the tenant ?1 in the order of their rows, and whether nothing may be sent to them.
const hooksSQL = "SELECT w.`id`, w.`disabled` OR NOT EXISTS (SELECT 1 FROM `tenants` t WHERE t.`id` = w.`tenant` AND t.`apiEnabled` = 1), " +
	"w.`events`, w.`filter` FROM `webhooks` w WHERE w.`tenant` = ?1 ORDER BY w.rowid"

// hook is what decides which events a webhook receives.
type hook struct {
	id     string
	closed bool     // it is disabled, or its tenant lacks the feature
	kinds  []string // none for those about contacts
	text   string   // of the filter
	filter *filter.Filter
}

// wants reports whether the webhook asks for events of a kind. A ping has its delivery from the beginning.
func (h *hook) wants(kind event.Kind) bool {
	switch {
	case kind == event.WebhookPing:
		return false
	case len(h.kinds) == 0:
		return kind.ByDefault()
	default:
		return slices.Contains(h.kinds, string(kind))
	}
}

// passes reports whether an event passes the filter, and adds the steps. An event passes if it could not be parsed, the filter fails, or the
// steps would be more than filter.MaxSteps.
func (h *hook) passes(event *filter.Event, steps *int) bool {
	if h.filter == nil || event == nil {
		return true
	}
	if *steps += h.filter.Steps(event); *steps > filter.MaxSteps {
		return true
	}
	matches, _ := h.filter.Match(event)
	return matches
}

// audience is the webhooks of a tenant, in the order of their rows.
type audience struct {
	version int64
	hooks   []*hook
}

// readAudience reads the webhooks of a tenant. It compiles only the filters that are not among the known ones.
func readAudience(tx sqlite.Reader, tenant string, version int64, known []*hook) (audience, error) {
	compiled := make(map[string]*hook, len(known))
	for _, h := range known {
		compiled[h.id] = h
	}
	a := audience{version: version}
	err := sqlite.Each(tx, hooksSQL, func(rows *sql.Rows) error {
		h := &hook{}
		var kinds []byte
		if err := rows.Scan(&h.id, &h.closed, &kinds, &h.text); err != nil {
			return err
		}
		_ = json.Unmarshal(kinds, &h.kinds) // '' for none
		if before := compiled[h.id]; before != nil && before.text == h.text {
			h.filter = before.filter
		} else if h.text != "" {
			h.filter, _ = filter.Compile(h.text) // without one that works, all events pass
		}
		a.hooks = append(a.hooks, h)
		return nil
	}, tenant)
	if err != nil {
		return a, fmt.Errorf("reading the webhooks of the tenant %s: %w", tenant, err)
	}
	return a, nil
}

// find returns the webhook with that id, and its position among those of the tenant; -1 for none.
func (a audience) find(id string) int {
	return slices.IndexFunc(a.hooks, func(h *hook) bool { return h.id == id })
}

// verdict is who receives an event.
type verdict struct {
	version  int64
	webhooks []string
	aside    bool // they are many, or their filters take long, so that the tenant is set aside
}

const (
	minAudiences = 1_000
	maxVerdicts  = 2_000
	warnEvery    = time.Hour
)

// directory caches the webhooks of tenants. It also remembers the recipients of events that are not fanned out yet, because they are decided once.
type directory struct {
	tenants func() ([]string, error) // the ids of all that exist

	mu        sync.Mutex
	audiences map[string]audience  // by tenant
	limit     int                  // of audiences, before those of deleted tenants are dropped
	young     map[string]verdict   // by event
	old       map[string]verdict   // dropped when young is full
	warned    map[string]time.Time // by tenant
}

func newDirectory(tenants func() ([]string, error)) *directory {
	return &directory{
		tenants: tenants, audiences: map[string]audience{}, limit: minAudiences, young: map[string]verdict{}, warned: map[string]time.Time{},
	}
}

func (d *directory) audience(tenant string) audience {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.audiences[tenant]
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

func (d *directory) decided(event string) (v verdict, found bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v, found = d.young[event]; !found {
		v, found = d.old[event]
	}
	return v, found
}

func (d *directory) remember(event string, decided verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.young) >= maxVerdicts {
		d.young, d.old = make(map[string]verdict, maxVerdicts), d.young
	}
	d.young[event] = decided
}

// warns reports whether to warn about the filters of a tenant, which is not done for each event.
func (d *directory) warns(tenant string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.warned[tenant]) < warnEvery {
		return false
	}
	d.warned[tenant] = now
	return true
}
