package delivery

import (
	"context"
	"database/sql"
	"time"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const (
	// clogHold is how long a delivery that waits for an earlier one of its contact stays out of the line. It is called
	// back earlier when that one is done.
	clogHold = 5 * time.Second

	// clogInterval is how often the lines are looked at.
	clogInterval = 250 * time.Millisecond
)

// heldContact is a contact of which deliveries to a webhook are out of the line.
type heldContact struct {
	webhook string
	contact string
}

// heldContacts is a hint: without it the deliveries come back by themselves, a little later.
type heldContacts struct {
	contacts map[heldContact]bool
	looked   time.Time // when lines were last looked at
}

// unclog looks at the lines of endpoints that got fewer deliveries than granted. Where the whole start of a line waits
// for earlier ones, those that wait make room: a contact with thousands of pending events must not hold up the others,
// and no claim may have to search through them.
func (q *SQLiteQueue) unclog(ctx context.Context, granted map[string]int, chosen []claimed, now time.Time) error {
	q.mu.Lock()
	elapsed := now.Sub(q.held.looked) // negative where the clock was set back
	early := 0 <= elapsed && elapsed < clogInterval
	if !early {
		q.held.looked = now
	}
	q.mu.Unlock()
	if early {
		return nil
	}
	missing := make(map[string]int, len(granted))
	for webhook, n := range granted {
		missing[webhook] = n
	}
	for _, c := range chosen {
		missing[c.webhook]--
	}
	var short []string
	for webhook, n := range missing {
		if n > 0 {
			short = append(short, webhook)
		}
	}
	if len(short) == 0 {
		return nil
	}
	encoded, err := list(short)
	if err != nil {
		return err
	}
	var clogged []string
	err = q.read(ctx, longSQL, func(rows *sql.Rows) error {
		var webhook string
		err := rows.Scan(&webhook)
		clogged = append(clogged, webhook)
		return err
	}, encoded, stamp.Stored(now), claimWindow-1)
	if err != nil {
		return err
	}
	for _, webhook := range clogged {
		if err := q.unclogEndpoint(ctx, webhook, now); err != nil {
			return err
		}
	}
	return nil
}

func (q *SQLiteQueue) unclogEndpoint(ctx context.Context, webhook string, now time.Time) error {
	var length int
	var waiting []int64
	var contacts []heldContact
	err := q.read(ctx, lineSQL, func(rows *sql.Rows) error {
		var row int64
		var contact string
		var waits bool
		if err := rows.Scan(&row, &contact, &waits); err != nil {
			return err
		}
		length++
		if waits {
			waiting = append(waiting, row)
			contacts = append(contacts, heldContact{webhook, contact})
		}
		return nil
	}, webhook, stamp.Stored(now), claimWindow, claimWindow, stamp.Stored(now.Add(-holdTime)))
	if err != nil || length < claimWindow || len(waiting) == 0 {
		return err
	}
	encoded, err := list(waiting)
	if err != nil {
		return err
	}
	q.mu.Lock()
	if q.held.contacts == nil {
		q.held.contacts = map[heldContact]bool{}
	}
	for _, contact := range contacts {
		q.held.contacts[contact] = true
	}
	q.mu.Unlock()
	return q.execute(statement(holdSQL, stamp.Stored(now.Add(clogHold)), encoded, stamp.Stored(now)))
}

// call is a statement that puts a contact's next delivery back into the line.
type call struct {
	contact   heldContact
	statement sqlite.Statement
}

// callNext returns the calls for the contacts among the results that are out of the line, now that the one before is
// done.
func (q *SQLiteQueue) callNext(results []Result, now time.Time) []call {
	q.mu.Lock()
	defer q.mu.Unlock()
	var calls []call
	for _, result := range results {
		key := heldContact{result.Job.Endpoint.WebhookID, result.Job.ContactID}
		if q.held.contacts[key] {
			calls = append(calls, call{key, statement(callSQL, key.webhook, result.Job.EventID, stamp.Stored(now))})
		}
	}
	return calls
}

// called takes in how many deliveries each call found: whose line is empty need not be called again.
func (q *SQLiteQueue) called(calls []call, found []int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, call := range calls {
		if found[i] == 0 {
			delete(q.held.contacts, call.contact)
		}
	}
}
