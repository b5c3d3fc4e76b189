package store

import (
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

// TenantOfEvent returns the tenant of an event. The error is sql.ErrNoRows if there is no such event.
func (s *Store) TenantOfEvent(id string) (string, error) {
	owner, err := sqlite.Value[string](sqlite.ReaderOf(s.app), "SELECT `tenant` FROM `events` WHERE `id` = ?", id)
	if err == nil && owner == "" {
		err = sql.ErrNoRows
	}
	return owner, err
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
