package delivery

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
)

// dateLayout is the form in which PocketBase stores dates: UTC, milliseconds, ordered as text.
const dateLayout = "2006-01-02 15:04:05.000Z"

func stamp(at time.Time) string { return at.UTC().Format(dateLayout) }

// parseStamp reads a stored date; an empty or malformed one is the zero time.
func parseStamp(stored string) time.Time {
	at, err := time.Parse(dateLayout, stored)
	if err != nil {
		return time.Time{}
	}
	return at
}

// wanted is the condition on a webhook w to get the events of the type that stands for %s: no chosen kinds mean all.
const wanted = "(w.`events` IN ('', '[]', 'null') OR EXISTS (SELECT 1 FROM json_each(w.`events`) k WHERE k.value = %s))"

// newDelivery begins a statement that inserts a delivery, due at once (?1), of each event e to the webhook w.
const newDelivery = "INSERT INTO `deliveries` (`id`, `event`, `webhook`, `tenant`, `status`, `attempts`, `nextAttempt`, `lastStatus`, `lastError`, `leaseUntil`, `created`, `updated`) " +
	"SELECT " + recordid.Function + ", e.`id`, w.`id`, w.`tenant`, 'pending', 0, ?1, 0, '', '', ?1, ?1 "

// once ends a statement that inserts deliveries.
const once = " ON CONFLICT (`event`, `webhook`) DO NOTHING"

var enqueueSQL = newDelivery +
	"FROM (SELECT ?2 AS `id`) e CROSS JOIN `webhooks` w ON w.`tenant` = ?3 AND w.`disabled` = 0 " +
	"WHERE " + fmt.Sprintf(wanted, "?4") + " AND EXISTS (SELECT 1 FROM `tenants` t WHERE t.`id` = ?3 AND t.`apiEnabled` = 1)" + once

// Enqueue queues the event for every webhook of the tenant that wants events of its type, in the transaction of what
// happened, and returns how many those are. Calling it again for the same event changes nothing. A webhook that is
// disabled, and every webhook of a tenant without the paid feature, gets none; Recover makes up for it.
func Enqueue(tx core.App, eventID, tenantID, eventType string) (int64, error) {
	changed, err := sqlite.Run(tx, []sqlite.Statement{enqueue(eventID, tenantID, eventType)})
	if err != nil {
		return 0, fmt.Errorf("queueing the event %s: %w", eventID, err)
	}
	return changed[0], nil
}

func enqueue(eventID, tenantID, eventType string) sqlite.Statement {
	return sqlite.Statement{Text: enqueueSQL, Args: []any{stamp(time.Now()), eventID, tenantID, eventType}}
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
	return []sqlite.Statement{write, enqueue(e.ID, e.TenantID, string(e.Kind))}, nil
}
