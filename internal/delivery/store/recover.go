package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// What the window of a recovery has, in pages of {:limit} rows after ({:place}, {:row}), wanted or not: the row and its
// place, the delivery, the event with its type and time, whether it is wanted, and whether it waits.
var (
	// failedPageSQL has the failed deliveries of the webhook. Wanted are those of {:kinds} that can still be sent.
	failedPageSQL = "SELECT p.[[row]], p.[[place]], p.[[id]], e.[[id]], e.[[type]], e.[[created]], " +
		missedKinds + " AND " + sendable + ", false " +
		"FROM (SELECT rowid AS [[row]], [[created]] AS [[place]], [[id]], [[event]] " +
		"FROM {{deliveries}} INDEXED BY [[idx_deliveries_failed]] " +
		"WHERE [[webhook]] = {:webhook} AND [[status]] = 'failed' AND " + afterPlace + ") p " +
		"CROSS JOIN {{events}} e ON e.[[id]] = p.[[event]] ORDER BY p.[[place]], p.[[row]]"

	// unsentPageSQL has the tenant's events that are fanned out. Wanted are those of {:kinds} since {:since} that have no
	// delivery to the webhook and can still be sent.
	unsentPageSQL = "SELECT e.rowid, '', '', e.[[id]], e.[[type]], e.[[created]], CASE WHEN d.[[event]] IS NULL " +
		"AND e.[[created]] >= {:since} AND " + missedKinds + " THEN " + sendable + " ELSE false END, false " +
		"FROM (SELECT rowid AS [[row]] FROM {{events}} INDEXED BY [[idx_events_feed]] " +
		"WHERE [[tenant]] = {:tenant} AND rowid > {:row} AND rowid <= " + cursorRow + " ORDER BY rowid LIMIT {:limit}) p " +
		"CROSS JOIN {{events}} e ON e.rowid = p.[[row]] " +
		"LEFT JOIN {{deliveries}} d ON d.[[event]] = e.[[id]] AND d.[[webhook]] = {:webhook} ORDER BY e.rowid"
)

// beforeSQL returns the row in front of the first event since ?1, of all tenants.
const beforeSQL = "SELECT coalesce((" +
	"SELECT rowid FROM `events` WHERE `created` >= ?1 ORDER BY `created`, rowid LIMIT 1) - 1, 1 << 62)"

const (
	// pendingPageSQL has the deliveries to the webhook. Wanted are pending ones; those wait that are due after {:now},
	// unless they are blocked: then they follow the one before them.
	pendingPageSQL = "SELECT rowid, [[created]], [[id]], '', '', '', [[status]] = 'pending', " +
		"[[blocked]] = 0 AND [[nextAttempt]] > {:now} FROM {{deliveries}} INDEXED BY [[idx_deliveries_webhook]] " +
		"WHERE [[webhook]] = {:webhook} AND " + afterPlace

	afterPlace = "[[created]] >= {:place} AND ([[created]] > {:place} OR rowid > {:row}) " +
		"ORDER BY [[created]], rowid LIMIT {:limit}"

	missedKinds = "e.[[type]] IN (SELECT value FROM json_each({:kinds}))"

	// windowPage is how many rows of a window are read at a time.
	windowPage = 500
)

// missed is a delivery, or an event without one.
type missed struct {
	Delivery string // "" for an event without one
	Event    string
	Type     string
	Created  string
	wanted   bool
	waits    bool
}

// window is what a recovery of a webhook looks at.
type window struct {
	store    *Store
	recovery delivery.Recovery
	sub      *subscriber
	params   dbx.Params
}

// Recover makes due all that the webhook missed, and returns a summary of it. With DryRun it only returns the summary.
// The error is sql.ErrNoRows if there is no such webhook. If ctx ends before all is read, nothing is made due.
func (s *Store) Recover(ctx context.Context, webhookID string, recovery delivery.Recovery) (delivery.Missed, error) {
	sum, err := s.recover(ctx, webhookID, recovery)
	if err != nil {
		return delivery.Missed{}, fmt.Errorf("recovering the webhook %q: %w", webhookID, err)
	}
	return sum, nil
}

func (s *Store) recover(
	ctx context.Context, webhookID string, recovery delivery.Recovery,
) (sum delivery.Missed, err error) {
	var owner, made string
	if err := s.app.DB().NewQuery("SELECT [[tenant]], [[created]] FROM {{webhooks}} WHERE [[id]] = {:id}").
		Bind(dbx.Params{"id": webhookID}).Row(&owner, &made); err != nil {
		return sum, err
	}
	if err := tenant.Writable(sqlite.ReaderOf(s.app), owner); err != nil {
		return sum, err
	}
	if err := s.CatchUp(ctx); err != nil { // until an event is fanned out, it is unknown who misses it
		return sum, err
	}
	sub, kinds, err := s.subscriber(owner, webhookID)
	if err != nil {
		return sum, err
	}
	now := stamp.Stored(time.Now())
	w := window{s, recovery, sub, dbx.Params{
		"webhook": webhookID, "tenant": owner, "now": now, "kinds": sqlite.List(kinds), "limit": windowPage,
	}}
	left, err := w.summarize(ctx, &sum, made)
	if err != nil || len(left) == 0 || recovery.DryRun {
		return sum, err
	}
	err = sqlite.InChunks(context.WithoutCancel(ctx), s.app, func(tx core.App, limit int) (int, error) {
		some := left[:min(limit, len(left))]
		left = left[len(some):]
		if err := tenant.Writable(sqlite.ReaderOf(tx), owner); err != nil {
			return 0, err
		}
		return len(some), requeueMissed(tx, webhookID, some, now)
	})
	if err != nil {
		return sum, err
	}
	return sum, s.probe(webhookID)
}

// summarize counts what the webhook, which was made at that time, missed, and what is pending. It returns what the
// recovery makes due.
func (w *window) summarize(ctx context.Context, sum *delivery.Missed, made string) (due []missed, err error) {
	sum.Types = map[string]int{}
	add := func(count *int) func(missed) {
		return func(m missed) {
			*count++
			sum.Types[m.Type]++
			extend(sum, m.Created)
			if !w.recovery.DryRun {
				due = append(due, m)
			}
		}
	}
	since := stamp.Stored(w.recovery.Since)
	if err := w.each(ctx, failedPageSQL, since, 0, add(&sum.Failed)); err != nil {
		return nil, err
	}
	events := since
	if !w.recovery.Before {
		events = max(since, made)
	}
	before, err := sqlite.Value[int64](sqlite.Direct(w.store.app.ConcurrentDB()), beforeSQL, events)
	if err != nil {
		return nil, err
	}
	w.params["since"] = events
	if err := w.each(ctx, unsentPageSQL, "", before, add(&sum.Missed)); err != nil {
		return nil, err
	}
	sum.Count = sum.Failed + sum.Missed
	if w.recovery.RetryPending {
		sum.PendingRetried = &sum.Pending
	}
	err = w.each(ctx, pendingPageSQL, since, 0, func(m missed) {
		sum.Pending++
		if w.recovery.RetryPending && m.waits {
			due = append(due, missed{Delivery: m.Delivery})
		}
	})
	return due, err
}

// each calls found for what is wanted after a place and a row, and passes the webhook's filter: page by page, each in a
// turn of the recovery.
func (w *window) each(ctx context.Context, query, place string, row int64, found func(missed)) error {
	params := maps.Clone(w.params)
	params["place"], params["row"] = place, row
	for full := true; full; {
		err := w.inTurn(ctx, func() (err error) {
			full, err = w.page(query, params, found)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *window) inTurn(ctx context.Context, read func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.recovery.Turn != nil {
		release, err := w.recovery.Turn(ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	return read()
}

// page reads the next page, sets the place after it, and reports whether there may be more.
func (w *window) page(query string, params dbx.Params, found func(missed)) (full bool, err error) {
	rows, err := w.store.app.ConcurrentDB().NewQuery(query).Bind(params).Rows()
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var page []missed
	var row int64
	var place string
	for rows.Next() {
		var m missed
		if err := rows.Scan(&row, &place, &m.Delivery, &m.Event, &m.Type, &m.Created, &m.wanted, &m.waits); err != nil {
			return false, err
		}
		page = append(page, m)
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	params["row"], params["place"] = row, place
	for _, m := range page {
		passes := m.wanted
		if passes && m.Event != "" && w.sub.filter != nil {
			parsed, err := readEvent(sqlite.Direct(w.store.app.ConcurrentDB()), m.Event)
			if err != nil {
				return false, err
			}
			passes = w.sub.passes(parsed, new(int))
		}
		if passes {
			found(m)
		}
	}
	return len(page) == windowPage, nil
}

// extend includes a stored time in the range from the oldest to the newest.
func extend(sum *delivery.Missed, stored string) {
	at := stamp.Time{Time: stamp.Parse(stored)}
	if sum.Oldest.IsZero() || at.Before(sum.Oldest.Time) {
		sum.Oldest = at
	}
	if at.After(sum.Newest.Time) {
		sum.Newest = at
	}
}

// probe makes the first delivery of the webhook due, in case the circuit is open.
func (s *Store) probe(webhookID string) error {
	_, err := s.app.DB().NewQuery("UPDATE {{deliveries}} SET [[nextAttempt]] = '' " +
		"WHERE [[rowid]] = (SELECT [[rowid]] FROM {{deliveries}} " +
		"WHERE [[webhook]] = {:webhook} AND [[status]] = 'pending' AND [[blocked]] = 0 ORDER BY [[nextAttempt]] LIMIT 1)").
		Bind(dbx.Params{"webhook": webhookID}).Execute()
	return err
}

// subscriber returns what decides which events a webhook receives, and the kinds that it wants.
func (s *Store) subscriber(tenantID, id string) (sub *subscriber, kinds []string, err error) {
	err = s.snapshot(func(tx sqlite.Reader) error {
		at, err := readPosition(tx, "")
		if err != nil {
			return err
		}
		a, err := s.directory.audience(tx, tenantID, at.version)
		if err != nil {
			return err
		}
		i := a.find(id)
		if i < 0 {
			return sql.ErrNoRows
		}
		sub = a.subscribers[i]
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, kind := range slices.Concat(event.Kinds, sub.kinds) { // the webhook may list kinds of extensions
		if sub.wants(event.Kind(kind)) {
			kinds = append(kinds, kind)
		}
	}
	return sub, kinds, nil
}
