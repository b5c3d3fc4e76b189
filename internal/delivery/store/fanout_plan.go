package store

import (
	"database/sql"
	"math"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// fannedOut has the statements that fan out events, the number of events and of rows, and the endpoints with new pending deliveries.
type fannedOut struct {
	statements   []sqlite.Statement
	events, rows int
	pending      []delivery.Ready
	finished     []finished // the results among the rows
}

// newEvent is an event after the cursor.
type newEvent struct {
	id      string
	tenant  string
	kind    event.Kind
	contact string
	created string
	row     int64 // 0 if nobody needs it
}

// fanOutOrder selects what to fan out. The rows exceed limit by at most manyRecipients.
type fanOutOrder struct {
	limit        int
	results      map[target]delivery.Result // that may be of events after the cursor
	answeredOnly bool                       // only the events up to the last one with a result
	undecided    bool                       // errUndecided instead of evaluating filters
}

// planFanOut fans out the first events after the cursor.
func (s *Store) planFanOut(tx sqlite.Reader, order fanOutOrder, now time.Time) (f fannedOut, err error) {
	last := int64(math.MaxInt64)
	if order.answeredOnly {
		if last, err = lastAnswered(tx, order.results); err != nil {
			return f, err
		}
	}
	events, err := readAfter(tx, "", last, order.limit)
	if err != nil || len(events) == 0 {
		return f, err
	}
	recipients, err := s.recipients(tx, order.undecided)
	if err != nil {
		return f, err
	}
	inserts := inserts{fanOutOrder: order, at: stamp.Stored(now)}
	for _, e := range events {
		if f.rows >= order.limit {
			break
		}
		webhooks, aside, err := recipients.of(e)
		if err != nil {
			return f, err
		}
		if aside {
			f.statements = append(f.statements, statement(setAsideSQL, e.tenant, e.id))
		}
		for _, webhook := range webhooks {
			inserts.add(&f, e, webhook)
		}
		f.events++
		f.rows += 1 + len(webhooks)
	}
	deliveries, err := inserts.statements(tx, f.finished)
	if err != nil {
		return f, err
	}
	f.statements = append(append(f.statements, deliveries...), statement(moveSQL, events[f.events-1].id))
	return f, nil
}

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

// lastAnswered returns the row of the last event with a result.
func lastAnswered(tx sqlite.Reader, results map[target]delivery.Result) (int64, error) {
	ids := make([]string, 0, len(results))
	for t := range results {
		ids = append(ids, t.event)
	}
	return sqlite.Value[int64](tx, lastSQL, sqlite.List(ids))
}

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

// readAfter reads the first events after the cursor, and after the event with that id, "" for none, up to the last row.
func readAfter(tx sqlite.Reader, after string, last int64, limit int) (events []newEvent, err error) {
	err = sqlite.Each(tx, afterSQL, func(rows *sql.Rows) error {
		var e newEvent
		err := rows.Scan(&e.id, &e.tenant, &e.kind, &e.contact, &e.created)
		events = append(events, e)
		return err
	}, limit, after, last)
	return events, err
}
