package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pocketbase/dbx"

	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/webhook/filter"
)

const (
	// manyRecipients is how many webhooks may want an event before its tenant is set aside.
	manyRecipients = 200
	// manySteps is how many steps their filters may take for it before that: 2 ms at most.
	manySteps = 20_000
)

// stateSQL reads the version of the webhooks, the tenants that are set aside, and the webhooks that were made or enabled while events of
// their tenants waited, with the rows of the newest of these events.
const stateSQL = "SELECT 'version', '', `version` FROM `_credentialVersion` UNION ALL SELECT 'aside', `tenant`, 0 FROM `_fanOutAside` " +
	"UNION ALL SELECT 'since', s.`webhook`, f.rowid FROM `_fanOutSince` s CROSS JOIN `events` f ON f.`id` = s.`event`"

// payloadSQL returns the payload of the event ?1.
const payloadSQL = "SELECT coalesce(`payload`, '') FROM `events` WHERE `id` = ?1"

// errUndecided is the error of a write function that would have to read webhooks or to evaluate filters.
var errUndecided = errors.New("the recipients are yet to be decided")

// deciding is how recipients are decided.
type deciding int

const (
	ahead    deciding = iota // on the reading pool; the decision is remembered
	writing                  // while others wait for the writer lock: errUndecided unless it is quick
	anywhere                 // while others wait, because webhooks change all the time
)

// recipients decides who receives events, as one transaction sees them.
type recipients struct {
	tx        sqlite.Reader
	directory *directory
	how       deciding
	version   int64
	aside     map[string]bool     // tenants that are set aside
	since     map[string]int64    // webhooks that get only events after a row
	audiences map[string]audience // by tenant
	spent     map[string]int      // steps of filters that were evaluated, by tenant
}

func (s *Store) recipients(tx sqlite.Reader, how deciding) (*recipients, error) {
	r := &recipients{
		tx: tx, directory: s.directory, how: how,
		aside: map[string]bool{}, since: map[string]int64{}, audiences: map[string]audience{}, spent: map[string]int{},
	}
	err := sqlite.Each(tx, stateSQL, func(rows *sql.Rows) error {
		var what, id string
		var value int64
		err := rows.Scan(&what, &id, &value)
		switch what {
		case "version":
			r.version = value
		case "aside":
			r.aside[id] = true
		case "since":
			r.since[id] = value
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the state of the webhooks: %w", err)
	}
	return r, nil
}

// of returns the webhooks that receive the event, unless its tenant is set aside. aside reports whether that begins with this event. Both are
// true of the transaction: nothing is written for a webhook or a tenant that was deleted after the decision.
func (r *recipients) of(e newEvent) (webhooks []string, aside bool, err error) {
	if e.kind == event.WebhookPing || r.aside[e.tenant] {
		return nil, false, nil
	}
	a, err := r.audience(e.tenant)
	if err != nil || len(a.subscribers) == 0 {
		return nil, false, err
	}
	v, decided := r.directory.decided(e.id)
	if !decided {
		if v, err = r.decide(e, a); err != nil {
			return nil, false, err
		}
	}
	r.aside[e.tenant] = v.aside
	if v.version == r.version {
		return v.webhooks, v.aside, nil
	}
	for _, id := range v.webhooks { // some may have been deleted since
		if a.find(id) >= 0 {
			webhooks = append(webhooks, id)
		}
	}
	return webhooks, v.aside, nil
}

// audience returns the webhooks of a tenant.
func (r *recipients) audience(tenant string) (a audience, err error) {
	a, found := r.audiences[tenant]
	if found {
		return a, nil
	}
	if a = r.directory.audience(tenant); a.version != r.version {
		if r.how == writing {
			return a, errUndecided
		}
		if a, err = readAudience(r.tx, tenant, r.version, a.subscribers); err != nil {
			return a, err
		}
		if r.how == ahead { // elsewhere the version may be one that is never committed
			r.directory.keep(tenant, a)
		}
	}
	r.audiences[tenant] = a
	return a, nil
}

// candidates returns those of the webhooks that receive the event if it passes their filters.
func (r *recipients) candidates(e newEvent, subscribers []*subscriber) (found []*subscriber) {
	for _, sub := range subscribers {
		if !sub.closed && sub.wants(e.kind) && r.since[sub.id] < e.row {
			found = append(found, sub)
		}
	}
	return found
}

// decide decides who receives an event, and remembers it.
func (r *recipients) decide(e newEvent, a audience) (verdict, error) {
	v := verdict{version: r.version}
	all, filtered := r.candidates(e, a.subscribers), false
	for _, sub := range all {
		v.webhooks = append(v.webhooks, sub.id)
		filtered = filtered || sub.filter != nil
	}
	switch {
	case len(all) > manyRecipients:
		v.webhooks, v.aside = nil, true
	case filtered && r.how == writing:
		return v, errUndecided
	case filtered:
		parsed, err := readEvent(r.tx, e.id)
		if err != nil {
			return v, err
		}
		v.webhooks, v.aside = r.evaluate(e.tenant, all, parsed)
	}
	if r.how == ahead {
		r.directory.remember(e.id, v)
	}
	return v, nil
}

// evaluate returns which webhooks an event passes the filters of, unless that takes long.
func (r *recipients) evaluate(tenant string, all []*subscriber, event *filter.Event) (webhooks []string, aside bool) {
	steps := 0
	for _, sub := range all {
		if sub.filter != nil && event != nil {
			steps += sub.filter.Steps(event)
		}
	}
	r.spent[tenant] += steps
	if steps > manySteps {
		return nil, true
	}
	steps = 0
	for _, sub := range all {
		if sub.passes(event, &steps) {
			webhooks = append(webhooks, sub.id)
		}
	}
	return webhooks, false
}

// snapshot calls do with a transaction on the reading pool.
func (s *Store) snapshot(do func(tx sqlite.Reader) error) error {
	db, open := s.app.ConcurrentDB().(*dbx.DB)
	if !open || db == nil {
		return errClosed
	}
	tx, err := db.DB().BeginTx(context.Background(), nil) // with another context, the driver needs a goroutine for each query
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	return do(tx)
}

// readEvent reads what filters see of an event, nil if it cannot be parsed.
func readEvent(tx sqlite.Reader, id string) (*filter.Event, error) {
	payload, err := sqlite.Value[string](tx, payloadSQL, id)
	if err != nil {
		return nil, fmt.Errorf("reading the payload of an event: %w", err)
	}
	return parsed([]byte(payload)), nil
}

// parsed returns what filters see of an event, nil if it cannot be parsed.
func parsed(payload []byte) *filter.Event {
	event, err := filter.Parse(payload)
	if err != nil {
		return nil
	}
	return event
}
