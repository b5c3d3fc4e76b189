package store

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// wanted is the condition on a webhook w to get the events of the type that stands for %s: no chosen kinds mean all.
const wanted = "(w.`events` IN ('', '[]', 'null') OR EXISTS (SELECT 1 FROM json_each(w.`events`) k WHERE k.value = %s))"

// newDelivery begins a statement that inserts deliveries, and once ends it.
const (
	newDelivery = "INSERT INTO `deliveries` (`id`, `event`, `webhook`, `tenant`, `status`, `attempts`, `nextAttempt`, `lastStatus`, `lastError`, `leaseUntil`, `created`, `updated`, `contact`, `blocked`) "
	once        = " ON CONFLICT (`event`, `webhook`) DO NOTHING"
)

// wantedSQL returns the webhooks of the tenant ?1 that get its events of the type ?2, each with the newest delivery in its
// line of the contact ?3. enqueueSQL queues an event for one of them. A statement that did both would take three times as
// long: one that may insert several rows has SQLite copy every page first.
var (
	wantedSQL = "SELECT w.`id`, " + fmt.Sprintf(newestSQL, "w.`id`", "?3") + " FROM `webhooks` w " +
		"WHERE w.`tenant` = ?1 AND w.`disabled` = 0 AND " + fmt.Sprintf(wanted, "?2") +
		" AND EXISTS (SELECT 1 FROM `tenants` t WHERE t.`id` = ?1 AND t.`apiEnabled` = 1)"

	enqueueSQL = newDelivery + "VALUES (?1, ?2, ?3, ?4, 'pending', 0, ?5, 0, '', '', ?6, ?6, ?7, ?8)" + once
)

// enqueue returns the statements that queue the event for every webhook of the tenant that wants events of its type, in
// the transaction of what happened. A webhook that is disabled, and every webhook of a tenant without the paid feature,
// gets none; Recover makes up for it.
func enqueue(tx sqlite.Reader, e *event.Event) ([]sqlite.Statement, error) {
	webhooks, err := wantedBy(tx, e.TenantID, e.Kind, e.Contact)
	now := time.Now()
	created := stamp.Stored(now)
	statements := make([]sqlite.Statement, len(webhooks))
	for i, w := range webhooks {
		statements[i] = statement(enqueueSQL, recordid.New(now), e.ID, w.id, e.TenantID, w.due(created), created, e.Contact, w.blocked())
	}
	return statements, err
}

// recipient is a webhook that gets an event, and the newest delivery in its line of the event's contact.
type recipient struct {
	id     string
	newest sql.NullString // as newestSQL returns it
}

// blocked tells whether the event has to wait for the newest delivery.
func (r recipient) blocked() bool { return r.newest.Valid && r.newest.String == "" }

// due returns when the event may be sent at the earliest.
func (r recipient) due(now string) string {
	if r.newest.String == "" {
		return now
	}
	return max(now, stamp.Stored(stamp.Parse(r.newest.String).Add(holdTime)))
}

// wantedBy returns the webhooks of the tenant that get its events of the kind now.
func wantedBy(tx sqlite.Reader, tenantID string, kind event.Kind, contact string) (recipients []recipient, err error) {
	rows, err := tx.Query(wantedSQL, tenantID, string(kind), contact)
	err = each(rows, err, func(rows *sql.Rows) error {
		var r recipient
		err := rows.Scan(&r.id, &r.newest)
		recipients = append(recipients, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading which webhooks want %s: %w", kind, err)
	}
	return recipients, nil
}

// Emit writes an event and its deliveries, in the transaction of what happened.
func Emit(tx core.App, e *event.Event, now time.Time) error {
	statements, err := PlanEmit(sqlite.ReaderOf(tx), e, now)
	if err != nil {
		return err
	}
	if _, err := sqlite.Run(tx, statements); err != nil {
		return fmt.Errorf("writing an event and its deliveries: %w", err)
	}
	return nil
}

// PlanEmit gives the event its id and returns the statements that write it and its deliveries.
func PlanEmit(tx sqlite.Reader, e *event.Event, now time.Time) ([]sqlite.Statement, error) {
	write, err := event.Plan(tx, e, now)
	if err != nil {
		return nil, err
	}
	deliveries, err := enqueue(tx, e)
	return append([]sqlite.Statement{write}, deliveries...), err
}
