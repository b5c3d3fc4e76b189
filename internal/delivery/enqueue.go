package delivery

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
	newDelivery = "INSERT INTO `deliveries` (`id`, `event`, `webhook`, `tenant`, `status`, `attempts`, `nextAttempt`, `lastStatus`, `lastError`, `leaseUntil`, `created`, `updated`) "
	once        = " ON CONFLICT (`event`, `webhook`) DO NOTHING"
)

// wantedSQL returns the webhooks of the tenant ?1 that get its events of the type ?2, and enqueueSQL queues an event for one
// of them. A statement that did both would take three times as long: one that may insert several rows has SQLite copy
// every page first.
var (
	wantedSQL = "SELECT w.`id` FROM `webhooks` w WHERE w.`tenant` = ?1 AND w.`disabled` = 0 AND " + fmt.Sprintf(wanted, "?2") +
		" AND EXISTS (SELECT 1 FROM `tenants` t WHERE t.`id` = ?1 AND t.`apiEnabled` = 1)"

	enqueueSQL = newDelivery + "VALUES (?1, ?2, ?3, ?4, 'pending', 0, ?5, 0, '', '', ?5, ?5)" + once
)

// Enqueue queues the event for every webhook of the tenant that wants events of its type, in the transaction of what
// happened, and returns how many those are. Calling it again for the same event changes nothing. A webhook that is
// disabled, and every webhook of a tenant without the paid feature, gets none; Recover makes up for it.
func Enqueue(tx core.App, eventID, tenantID, eventType string) (int64, error) {
	statements, err := enqueue(sqlite.ReaderOf(tx), eventID, tenantID, eventType)
	if err != nil {
		return 0, err
	}
	changed, err := sqlite.Run(tx, statements)
	if err != nil {
		return 0, fmt.Errorf("queueing the event %s: %w", eventID, err)
	}
	var queued int64
	for _, n := range changed {
		queued += n
	}
	return queued, nil
}

// enqueue returns the statements of Enqueue.
func enqueue(tx sqlite.Reader, eventID, tenantID, eventType string) ([]sqlite.Statement, error) {
	webhooks, err := wantedBy(tx, tenantID, eventType)
	now := time.Now()
	statements := make([]sqlite.Statement, len(webhooks))
	for i, webhook := range webhooks {
		statements[i] = statement(enqueueSQL, recordid.New(now), eventID, webhook, tenantID, stamp.Stored(now))
	}
	return statements, err
}

// wantedBy returns the webhooks of the tenant that get its events of the type now.
func wantedBy(tx sqlite.Reader, tenantID, eventType string) (webhooks []string, err error) {
	rows, err := tx.Query(wantedSQL, tenantID, eventType)
	err = each(rows, err, func(rows *sql.Rows) error {
		var webhook string
		err := rows.Scan(&webhook)
		webhooks = append(webhooks, webhook)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading which webhooks want %s: %w", eventType, err)
	}
	return webhooks, nil
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
	deliveries, err := enqueue(tx, e.ID, e.TenantID, string(e.Kind))
	return append([]sqlite.Statement{write}, deliveries...), err
}
