package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// sendable is the condition that an event e can still be sent. A redacted contact.deleted can: it only has the
// contact's id.
var sendable = "(e.[[type]] = '" + string(event.ContactDeleted) + "' OR NOT " + isErased("e.[[payload]]") + ")"

// requeue makes deliveries due. A finished one starts again with attempt 1 and the whole schedule; a pending one only
// gets an earlier next attempt.
const requeue = "UPDATE {{deliveries}} SET [[nextAttempt]] = {:next}, [[updated]] = {:now}, " +
	"[[attempts]] = CASE WHEN [[status]] = 'pending' THEN [[attempts]] ELSE 0 END, " +
	"[[status]] = 'pending' WHERE "

// Redeliver makes a delivery due now, whatever its state, ahead of everything else at its endpoint and even if the
// endpoint's circuit is open. If the webhook is disabled, the delivery waits until it is enabled. The error is
// sql.ErrNoRows if there is no such delivery, and delivery.ErrErased if there is nothing left to send.
func (s *Store) Redeliver(deliveryID string, now time.Time) (*delivery.Delivery, error) {
	queued := &delivery.Delivery{ID: deliveryID, Status: delivery.StatusPending, NextAttempt: stamp.Time{Time: now}}
	err := s.app.RunInTransaction(func(tx core.App) error {
		var row struct {
			Attempts int    `db:"attempts"`
			Sendable bool   `db:"sendable"`
			Tenant   string `db:"tenant"`
		}
		err := tx.DB().NewQuery("SELECT CASE WHEN d.[[status]] = 'pending' " +
			"THEN d.[[attempts]] ELSE 0 END AS [[attempts]], d.[[tenant]], " + sendable +
			" AS [[sendable]] FROM {{deliveries}} d JOIN {{events}} e ON e.[[id]] = d.[[event]] WHERE d.[[id]] = {:id}").
			Bind(dbx.Params{"id": deliveryID}).One(&row)
		if err != nil {
			return err
		}
		if err := tenant.Writable(sqlite.ReaderOf(tx), row.Tenant); err != nil {
			return err
		}
		if !row.Sendable {
			return delivery.ErrErased
		}
		queued.Attempts = row.Attempts
		// an empty date sorts before all others, and marks a redelivery
		_, err = tx.DB().NewQuery(requeue + "[[id]] = {:id}").
			Bind(dbx.Params{"id": deliveryID, "next": "", "now": stamp.Stored(now)}).Execute()
		if err != nil {
			return err
		}
		_, err = sqlite.Run(tx, []sqlite.Statement{enqueue(enqueueRequeuedSQL, []string{deliveryID}, stamp.Stored(now))})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("redelivering %q: %w", deliveryID, err)
	}
	return queued, nil
}

// RedeliverEvent makes the deliveries of a tenant's event due now, as Redeliver does: that to a webhook, which gets one
// if it has none, or without an id all. It returns how many there are. The error is sql.ErrNoRows if the tenant has no
// such event or webhook, and delivery.ErrErased if there is nothing left to send.
func (s *Store) RedeliverEvent(owner, eventID, webhookID string, now time.Time) (int, error) {
	ids, err := s.redeliverable(owner, eventID, webhookID)
	if err != nil {
		return 0, fmt.Errorf("redelivering the event %q: %w", eventID, err)
	}
	if len(ids) == 0 && webhookID != "" {
		err := s.app.RunInTransaction(func(tx core.App) error {
			return requeueMissed(tx, webhookID, []missed{{Event: eventID}}, stamp.Stored(now))
		})
		return 1, err
	}
	for _, id := range ids {
		if _, err := s.Redeliver(id, now); err != nil && !errors.Is(err, sql.ErrNoRows) { // it has just been deleted
			return 0, err
		}
	}
	return len(ids), nil
}

// redeliverable returns the deliveries of an event, to one webhook or all.
func (s *Store) redeliverable(owner, eventID, webhookID string) (ids []string, err error) {
	tx := sqlite.ReaderOf(s.app)
	var row struct {
		Sendable bool `db:"sendable"`
		Known    bool `db:"known"`
	}
	err = s.app.DB().NewQuery("SELECT " + sendable + " AS [[sendable]], {:webhook} = '' OR EXISTS (" +
		"SELECT 1 FROM {{webhooks}} WHERE [[id]] = {:webhook} AND [[tenant]] = {:tenant}) AS [[known]] " +
		"FROM {{events}} e WHERE e.[[id]] = {:id} AND e.[[tenant]] = {:tenant}").
		Bind(dbx.Params{"id": eventID, "tenant": owner, "webhook": webhookID}).One(&row)
	switch {
	case err != nil:
		return nil, err
	case !row.Known:
		return nil, sql.ErrNoRows
	case !row.Sendable:
		return nil, delivery.ErrErased
	}
	if err := tenant.Writable(tx, owner); err != nil {
		return nil, err
	}
	err = sqlite.Each(tx,
		"SELECT `id` FROM `deliveries` WHERE `event` = ?1 AND (?2 = '' OR `webhook` = ?2) ORDER BY rowid",
		func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		}, eventID, webhookID)
	return ids, err
}

// missedSQL lists what the webhook missed since a time: its failed deliveries, and the events that have no delivery to
// it although they are fanned out, with {:before} also those older than the webhook. Both are of {:kinds}; its filter
// is yet to be applied to the payload. Without a filter, payloads are read only of events without a delivery, which are
// few: reading one takes longer than all the rest.
var missedSQL = "SELECT d.[[id]] AS [[delivery]], e.[[id]] AS [[event]], " +
	"e.[[type]] AS [[type]], e.[[created]] AS [[created]]" + filtered +
	" FROM {{webhooks}} w JOIN {{deliveries}} d ON d.[[webhook]] = w.[[id]] " +
	"AND d.[[created]] >= {:since} AND d.[[status]] = 'failed' " +
	"JOIN {{events}} e ON e.[[id]] = d.[[event]] " +
	"WHERE w.[[id]] = {:webhook} AND " + missedKinds + " AND " + sendable +
	" UNION ALL " +
	"SELECT '', e.[[id]], e.[[type]], e.[[created]]" + filtered +
	" FROM {{webhooks}} w JOIN {{events}} e ON e.[[tenant]] = w.[[tenant]] " +
	"AND e.[[created]] >= max({:since}, iif({:before}, '', w.[[created]])) " +
	"LEFT JOIN {{deliveries}} d ON d.[[event]] = e.[[id]] AND d.[[webhook]] = w.[[id]] " +
	"WHERE w.[[id]] = {:webhook} AND " + missedKinds +
	" AND CASE WHEN d.[[event]] IS NULL THEN " + sendable + " AND " + fannedOutSQL("e") + " END"

// pendingSQL lists the pending deliveries of a webhook since a time, and whether they wait for a later attempt than
// {:now}. Those that are blocked follow the one before them.
const pendingSQL = "SELECT [[id]] AS [[delivery]], [[blocked]] = 0 AND [[nextAttempt]] > {:now} AS [[waits]] " +
	"FROM {{deliveries}} WHERE [[webhook]] = {:webhook} AND [[status]] = 'pending' AND [[created]] >= {:since}"

// filtered is what the webhook's filter is applied to.
const filtered = ", iif(w.[[filter]] = '', '', e.[[payload]]) AS [[payload]]"

const missedKinds = "e.[[type]] IN (SELECT value FROM json_each({:kinds}))"

// missed is a delivery, or an event without one.
type missed struct {
	Delivery string // "" for an event without one
	Event    string
	Type     string
	Created  string
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

// Recover makes due all that the webhook missed, and returns a summary of it. With DryRun it only returns the summary.
// The error is sql.ErrNoRows if there is no such webhook.
func (s *Store) Recover(webhookID string, recovery delivery.Recovery) (delivery.Missed, error) {
	sum, err := s.recover(webhookID, recovery)
	if err != nil {
		return delivery.Missed{}, fmt.Errorf("recovering the webhook %q: %w", webhookID, err)
	}
	return sum, nil
}

func (s *Store) recover(webhookID string, recovery delivery.Recovery) (sum delivery.Missed, err error) {
	var owner string
	if err := s.app.DB().NewQuery("SELECT [[tenant]] FROM {{webhooks}} WHERE [[id]] = {:id}").
		Bind(dbx.Params{"id": webhookID}).Row(&owner); err != nil {
		return sum, err
	}
	if err := tenant.Writable(sqlite.ReaderOf(s.app), owner); err != nil {
		return sum, err
	}
	if err := s.CatchUp(context.Background()); err != nil { // until an event is fanned out, it is unknown who misses it
		return sum, err
	}
	sub, kinds, err := s.subscriber(owner, webhookID)
	if err != nil {
		return sum, err
	}
	now := stamp.Stored(time.Now())
	params := dbx.Params{
		"webhook": webhookID, "since": stamp.Stored(recovery.Since), "before": recovery.Before,
		"now": now, "kinds": sqlite.List(kinds),
	}
	left, err := s.summarize(&sum, sub, params, recovery)
	if err != nil || len(left) == 0 || recovery.DryRun {
		return sum, err
	}
	err = sqlite.InChunks(context.Background(), s.app, func(tx core.App, limit int) (int, error) {
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

// summarize counts what the webhook missed and what is pending, and returns what the recovery makes due.
func (s *Store) summarize(
	sum *delivery.Missed, sub *subscriber, params dbx.Params, recovery delivery.Recovery,
) (due []missed, err error) {
	sum.Types = map[string]int{}
	err = s.eachMissed(sub, params, func(m missed) {
		if m.Delivery != "" {
			sum.Failed++
		} else {
			sum.Missed++
		}
		sum.Types[m.Type]++
		extend(sum, m.Created)
		if !recovery.DryRun {
			due = append(due, m)
		}
	})
	if err != nil {
		return nil, err
	}
	sum.Count = sum.Failed + sum.Missed
	err = s.eachPending(params, func(id string, waits bool) {
		sum.Pending++
		if recovery.RetryPending && waits {
			due = append(due, missed{Delivery: id})
		}
	})
	if recovery.RetryPending {
		sum.PendingRetried = &sum.Pending
	}
	return due, err
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
	for _, kind := range event.Kinds {
		if err == nil && sub.wants(event.Kind(kind)) {
			kinds = append(kinds, kind)
		}
	}
	return sub, kinds, err
}

// eachMissed calls found for each row of missedSQL that passes the webhook's filter. It does not keep their payloads.
func (s *Store) eachMissed(sub *subscriber, params dbx.Params, found func(missed)) error {
	rows, err := s.app.ConcurrentDB().NewQuery(missedSQL).Bind(params).Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var m missed
		var payload []byte
		if err := rows.Scan(&m.Delivery, &m.Event, &m.Type, &m.Created, &payload); err != nil {
			return err
		}
		if len(payload) == 0 || sub.passes(parsed(payload), new(int)) {
			found(m)
		}
	}
	return rows.Err()
}

// eachPending calls found for each row of pendingSQL.
func (s *Store) eachPending(params dbx.Params, found func(id string, waits bool)) error {
	rows, err := s.app.ConcurrentDB().NewQuery(pendingSQL).Bind(params).Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var waits bool
		if err := rows.Scan(&id, &waits); err != nil {
			return err
		}
		found(id, waits)
	}
	return rows.Err()
}

func requeueMissed(tx core.App, webhookID string, some []missed, now string) error {
	var deliveries, events []string
	for _, m := range some {
		if m.Delivery != "" {
			deliveries = append(deliveries, m.Delivery)
		} else {
			events = append(events, m.Event)
		}
	}
	_, err := tx.DB().NewQuery(requeue + "([[status]] = 'failed' OR [[status]] = 'pending' " +
		"AND [[nextAttempt]] > {:now}) AND [[id]] IN (SELECT value FROM json_each({:ids}))").
		Bind(dbx.Params{"ids": sqlite.List(deliveries), "next": now, "now": now}).Execute()
	if err != nil {
		return err
	}
	redelivered, added := enqueue(enqueueRequeuedSQL, deliveries, now), enqueue(enqueueEventsSQL, events, now)
	_, err = sqlite.Run(tx, []sqlite.Statement{statement(insertInto+
		"SELECT "+recordid.Function+", e.`id`, w.`id`, w.`tenant`, 'pending', 0, ?1, 0, '', ?1, ?1, e.`contact`, 0 "+
		"FROM json_each(?2) j CROSS JOIN `events` e ON e.`id` = j.`value` CROSS JOIN `webhooks` w ON w.`id` = ?3 "+
		"JOIN `tenants` t ON t.`id` = w.`tenant` WHERE true ORDER BY e.rowid"+once,
		now, sqlite.List(events), webhookID), redelivered, added})
	return err
}
