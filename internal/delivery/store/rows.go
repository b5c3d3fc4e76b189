package store

import (
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// currentSQL returns the deliveries in ?1 that have not changed since their attempts, by their indexes in the list, and whether another
// delivery waits for each. An entry of the list has the event, the webhook and the number of earlier attempts. Those of deleted webhooks and
// tenants, which are about to be deleted, are not among them.
const currentSQL = `SELECT j.key, d.id, EXISTS (
	SELECT 1 FROM deliveries n WHERE n.webhook = d.webhook AND n.contact = d.contact AND n.contact != '' AND n.status = 'pending' AND n.rowid > d.rowid
) FROM json_each(?1) j CROSS JOIN deliveries d ON d.event = j.value ->> 0 AND d.webhook = j.value ->> 1
WHERE d.status = 'pending' AND d.attempts = j.value ->> 2
AND EXISTS (SELECT 1 FROM webhooks w CROSS JOIN tenants t ON t.id = w.tenant WHERE w.id = d.webhook)`

// finishSQL stores the result of an attempt in the delivery ?7, which had ?8 earlier attempts. It clears blocked: an attempted delivery
// waits for no other, even if one came in front of it meanwhile.
const finishSQL = `UPDATE deliveries SET status = ?1, attempts = ?2, nextAttempt = ?3, lastStatus = ?4, lastError = ?5, updated = ?6, blocked = 0
WHERE id = ?7 AND status = 'pending' AND attempts = ?8`

const attemptSQL = `INSERT INTO delivery_attempts (id, delivery, number, started, durationMs, status, error, requestHeaders, responseHeaders, responseBody)
VALUES (` + recordid.Function + `, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`

// inserts are the deliveries that fan-out inserts.
type inserts struct {
	fanOutOrder
	at        string
	rows      [][]any // the arguments of insertSQL
	attempted []int   // those of them with a result, in the order of fannedOut.finished
	queued    []enqueued
}

// add adds the delivery of an event to a webhook.
func (i *inserts) add(f *fannedOut, e newEvent, webhook string) {
	if result, found := i.results[target{e.id, webhook}]; found {
		i.attempted = append(i.attempted, len(i.rows))
		i.rows = append(i.rows, e.attemptedRow(result, i.at))
		f.finished = append(f.finished, finished{result: result})
	} else {
		i.rows = append(i.rows, e.pendingRow(webhook, i.at))
		f.pending = append(f.pending, delivery.Ready{Event: e.id, Webhook: webhook, Tenant: e.tenant})
	}
	if e.contact != "" {
		i.queued = append(i.queued, enqueued{e.id, webhook, e.contact})
	}
}

// statements insert the deliveries and queue them behind earlier ones of the same contact. The finished ones receive their ids.
func (i *inserts) statements(tx sqlite.Reader, finished []finished) (statements []sqlite.Statement, err error) {
	if len(i.rows) == 0 {
		return nil, nil
	}
	if err := avoidTaken(tx, i.rows); err != nil {
		return nil, err
	}
	for n, row := range i.attempted {
		finished[n].delivery = i.rows[row][0].(string)
	}
	statements = append(statements, sqlite.Repeat(insertSQL, i.rows))
	behind, err := behindOthers(tx, i.queued)
	if err != nil || len(behind) == 0 {
		return statements, err
	}
	return append(statements, enqueue(enqueueEventsSQL, behind, i.at)), nil
}

// target is the event and the webhook of a delivery.
type target struct{ event, webhook string }

// deliveryID returns the id of an event's delivery to a webhook. It is derived, so that a delivery that was in flight at a crash is sent
// again with the same id.
func deliveryID(happened time.Time, event, webhook string) string {
	return recordid.Derived(happened, event, webhook)
}

// takenSQL returns the indexes of the ids in ?1, each with an event and a webhook, that another delivery has.
const takenSQL = `SELECT j.key FROM json_each(?1) j CROSS JOIN deliveries d ON d.id = j.value ->> 0
WHERE d.event != j.value ->> 1 OR d.webhook != j.value ->> 2`

// avoidTaken gives rows another id if theirs is another delivery's.
func avoidTaken(tx sqlite.Reader, inserted [][]any) error {
	ids, seen := make([][]any, len(inserted)), make(map[any]bool, len(inserted))
	var taken []int
	for i, row := range inserted {
		ids[i] = row[:3]
		if seen[row[0]] {
			taken = append(taken, i)
		}
		seen[row[0]] = true
	}
	others, err := sqlite.Values[int](tx, takenSQL, sqlite.List(ids))
	for _, i := range append(taken, others...) {
		inserted[i][0] = recordid.New(time.Now())
	}
	return err
}

// pendingRow returns the arguments of insertSQL for a pending delivery.
func (e newEvent) pendingRow(webhook, at string) []any {
	made := min(e.created, at) // a clock may have been ahead
	return []any{deliveryID(stamp.Parse(e.created), e.id, webhook), e.id, webhook, e.tenant, delivery.StatusPending, 0, made, 0, "", made, made, e.contact}
}

// attemptedRow returns the arguments of insertSQL for a delivery that was attempted.
func (e newEvent) attemptedRow(result delivery.Result, at string) []any {
	return []any{
		result.Job.DeliveryID, e.id, result.Job.Endpoint.WebhookID, e.tenant, result.Decision.Status, result.Job.Attempt, nextAttempt(result.Decision),
		result.Attempt.Status, result.Attempt.LastError(), min(e.created, at), at, e.contact,
	}
}
