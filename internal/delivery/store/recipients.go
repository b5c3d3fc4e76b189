package store

import (
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"math"

	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/webhook/filter"
)

const (
	// manyRecipients is how many webhooks may want an event of a tenant that is fanned out together with those of others.
	manyRecipients = 200
	// manySteps is how many steps their filters may take for it: 2 ms at most.
	manySteps = 20_000
)

// wanted returns the condition that a webhook w gets events of a type, given as an expression. A webhook without kinds gets those about
// contacts.
func wanted(kind string) string {
	return "(w.`events` IN ('', '[]', 'null') AND " + event.ByDefault(kind) + " OR EXISTS (SELECT 1 FROM json_each(w.`events`) k WHERE k.value = " + kind + "))"
}

// wantedSQL returns the first ?4 webhooks of the tenant ?1 after the webhook ?3 that get the event of the type ?2 in the row ?5, and their
// filters. payloadSQL returns the payload of the event ?1. asideSQL returns the tenants that are set aside.
var wantedSQL = "SELECT w.`id`, w.`filter` FROM `webhooks` w WHERE w.`tenant` = ?1 AND w.`disabled` = 0 AND " + wanted("?2") +
	" AND w.rowid > coalesce((SELECT rowid FROM `webhooks` WHERE `id` = ?3), 0)" +
	" AND EXISTS (SELECT 1 FROM `tenants` t WHERE t.`id` = ?1 AND t.`apiEnabled` = 1)" +
	" AND NOT EXISTS (SELECT 1 FROM `_fanOutSince` s CROSS JOIN `events` f ON f.`id` = s.`event` WHERE s.`webhook` = w.`id` AND f.rowid >= ?5)" +
	" ORDER BY w.rowid LIMIT ?4"

const (
	payloadSQL = "SELECT coalesce(`payload`, '') FROM `events` WHERE `id` = ?1"
	asideSQL   = "SELECT `tenant` FROM `_fanOutAside`"
)

// errUndecided is the error of a write function that would have to evaluate filters.
var errUndecided = errors.New("filters are yet to be evaluated")

// candidate is a webhook that gets the events of a kind that pass its filter, "" for none.
type candidate struct{ webhook, filter string }

// readCandidates reads webhooks by wantedSQL.
func readCandidates(tx sqlite.Reader, e newEvent, after string, limit int, row int64) (all []candidate, err error) {
	err = sqlite.Each(tx, wantedSQL, func(rows *sql.Rows) error {
		var one candidate
		err := rows.Scan(&one.webhook, &one.filter)
		all = append(all, one)
		return err
	}, e.tenant, string(e.kind), after, limit, row)
	if err != nil {
		return nil, fmt.Errorf("reading which webhooks want %s: %w", e.kind, err)
	}
	return all, nil
}

// recipients tells who receives the events after the cursor. It remembers the candidates of each tenant and kind.
type recipients struct {
	tx      sqlite.Reader
	filters *evaluator
	writing bool            // while others wait for the writer lock: errUndecided instead of evaluations
	aside   map[string]bool // tenants that are set aside
	known   map[[2]string]candidates
	spent   map[string]int // steps of filters that were evaluated, by tenant
}

type candidates struct {
	all      []candidate
	filtered bool
	sum      uint64 // identifies them and their filters
}

var sumSeed = maphash.MakeSeed()

func (s *Store) recipients(tx sqlite.Reader, writing bool) (*recipients, error) {
	r := &recipients{tx: tx, filters: s.filters, writing: writing, aside: map[string]bool{}, known: map[[2]string]candidates{}, spent: map[string]int{}}
	tenants, err := sqlite.Values[string](tx, asideSQL)
	for _, tenant := range tenants {
		r.aside[tenant] = true
	}
	return r, err
}

// of returns the webhooks that get the event, unless its tenant is set aside. aside reports whether that begins with this event: its webhooks are
// many, or their filters take too long. A ping is written with its delivery.
func (r *recipients) of(e newEvent) (webhooks []string, aside bool, err error) {
	if e.kind == event.WebhookPing || r.aside[e.tenant] {
		return nil, false, nil
	}
	c, err := r.candidates(e)
	if err != nil {
		return nil, false, err
	}
	decided, err := r.decide(e, c)
	r.aside[e.tenant] = decided.aside
	return decided.webhooks, decided.aside, err
}

func (r *recipients) candidates(e newEvent) (c candidates, err error) {
	key := [2]string{e.tenant, string(e.kind)}
	if c, known := r.known[key]; known {
		return c, nil
	}
	if c.all, err = readCandidates(r.tx, e, "", manyRecipients+1, math.MaxInt64); err != nil {
		return c, err
	}
	var sum maphash.Hash
	sum.SetSeed(sumSeed)
	for _, one := range c.all {
		c.filtered = c.filtered || one.filter != ""
		_, _ = sum.WriteString(one.webhook + one.filter + "\n")
	}
	c.sum = sum.Sum64()
	r.known[key] = c
	return c, nil
}

func (r *recipients) decide(e newEvent, c candidates) (v verdict, err error) {
	switch {
	case len(c.all) > manyRecipients:
		return verdict{aside: true}, nil
	case !c.filtered:
		for _, one := range c.all {
			v.webhooks = append(v.webhooks, one.webhook)
		}
		return v, nil
	}
	if v, decided := r.filters.decided(e.id, c.sum); decided {
		return v, nil
	}
	if r.writing {
		return v, errUndecided
	}
	event, err := readEvent(r.tx, e.id)
	if err != nil {
		return v, err
	}
	v = r.evaluate(e.tenant, c, event)
	r.filters.remember(e.id, v)
	return v, nil
}

func (r *recipients) evaluate(tenant string, c candidates, event *filter.Event) verdict {
	v, steps := verdict{candidates: c.sum}, 0
	for _, one := range c.all {
		steps += r.filters.steps(one, event)
	}
	r.spent[tenant] += steps
	if steps > manySteps {
		v.aside = true
		return v
	}
	steps = 0
	for _, one := range c.all {
		if r.filters.passes(one, event, &steps) {
			v.webhooks = append(v.webhooks, one.webhook)
		}
	}
	return v
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
