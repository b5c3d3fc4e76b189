package delivery

import (
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
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
const wanted = "(w.[[events]] IN ('', '[]', 'null') OR EXISTS (SELECT 1 FROM json_each(w.[[events]]) k WHERE k.value = %s))"

// newID makes a record id in SQL: 15 of the characters that PocketBase allows, 60 random bits.
const newID = "substr(lower(hex(randomblob(8))), 1, 15)"

// newDelivery is the columns and values of a delivery of the event e to the webhook w that is due at once.
const newDelivery = "([[id]], [[event]], [[webhook]], [[tenant]], [[status]], [[attempts]], [[nextAttempt]], [[lastStatus]], [[lastError]], [[leaseUntil]], [[created]], [[updated]]) " +
	"SELECT " + newID + ", e.[[id]], w.[[id]], w.[[tenant]], 'pending', 0, {:now}, 0, '', '', {:now}, {:now} "

var enqueueSQL = "INSERT INTO {{deliveries}} " + newDelivery +
	"FROM (SELECT {:event} AS [[id]]) e CROSS JOIN {{webhooks}} w ON w.[[tenant]] = {:tenant} AND w.[[disabled]] = 0 " +
	"WHERE " + fmt.Sprintf(wanted, "{:type}") + " AND EXISTS (SELECT 1 FROM {{tenants}} t WHERE t.[[id]] = {:tenant} AND t.[[apiEnabled]] = 1) " +
	"ON CONFLICT ([[event]], [[webhook]]) DO NOTHING"

// Enqueue queues the event for every webhook of the tenant that wants events of its type, in the transaction of what
// happened, and returns how many those are. Calling it again for the same event changes nothing. A webhook that is
// disabled, and every webhook of a tenant without the paid feature, gets none; Recover makes up for it.
func Enqueue(tx core.App, eventID, tenantID, eventType string) (int64, error) {
	result, err := tx.DB().NewQuery(enqueueSQL).Bind(dbx.Params{
		"event":  eventID,
		"tenant": tenantID,
		"type":   eventType,
		"now":    stamp(time.Now()),
	}).Execute()
	if err != nil {
		return 0, fmt.Errorf("queueing the event %s: %w", eventID, err)
	}
	return result.RowsAffected()
}
