package delivery

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Complete implements Queue. Disabling an endpoint that answered 410 and redacting what belongs to an erased contact
// are part of the transaction. Whether an endpoint has been dead for too long is looked at afterwards: it can take a
// while, and it is the same a moment later.
func (q *SQLiteQueue) Complete(ctx context.Context, results []Result, now time.Time) error {
	if len(results) == 0 {
		return nil
	}
	err := q.transact(ctx, func(tx *sql.Tx) error {
		var finished []Result
		for _, result := range results {
			stored, err := store(ctx, tx, result, now)
			if err != nil {
				return err
			}
			if stored && result.Decision.Status != StatusPending {
				finished = append(finished, result)
			}
		}
		if err := redactFinished(ctx, tx, finished); err != nil {
			return err
		}
		return q.callNext(ctx, tx, results, now)
	})
	if err != nil {
		return fmt.Errorf("storing the results of %d attempts: %w", len(results), err)
	}
	q.disableDead(ctx, results, now)
	return nil
}

// store writes one result, unless its claim was lost.
func store(ctx context.Context, tx *sql.Tx, result Result, now time.Time) (stored bool, err error) {
	job, attempt, decision := result.Job, result.Attempt, result.Decision
	next := ""
	if decision.Status == StatusPending {
		next = stamp(decision.Next)
	}
	changed, err := exec(ctx, tx, finishSQL, decision.Status, job.Attempt, next, attempt.Status, explain(attempt), stamp(now),
		job.DeliveryID, job.Attempt-1, stamp(job.Lease))
	if err != nil || changed == 0 {
		return false, err
	}
	_, err = exec(ctx, tx, attemptSQL, job.DeliveryID, attempt.Number, stamp(attempt.Started), attempt.Duration.Milliseconds(),
		attempt.Status, attempt.Error, attempt.RequestHeaders, attempt.ResponseHeaders, attempt.ResponseBody)
	if err != nil {
		return false, err
	}
	if decision.Disable != "" {
		_, err = exec(ctx, tx, disableSQL, job.Endpoint.WebhookID, decision.Disable, stamp(now))
	}
	return true, err
}

// redactFinished redacts what was delivered or given up of contacts that were erased in the meantime.
func redactFinished(ctx context.Context, tx *sql.Tx, finished []Result) error {
	contacts := make([]string, 0, len(finished))
	for _, result := range finished {
		if result.Job.ContactID != "" {
			contacts = append(contacts, result.Job.ContactID)
		}
	}
	if len(contacts) == 0 {
		return nil
	}
	encoded, err := list(contacts)
	if err != nil {
		return err
	}
	erased := map[string]bool{}
	err = each(ctx, tx, erasedContactsSQL, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		erased[id] = true
		return err
	}, encoded)
	if err != nil || len(erased) == 0 {
		return err
	}
	var events, deliveries []string
	for _, result := range finished {
		if erased[result.Job.ContactID] {
			events = append(events, result.Job.EventID)
			deliveries = append(deliveries, result.Job.DeliveryID)
		}
	}
	return redact(ctx, tx, events, deliveries)
}

func redact(ctx context.Context, tx *sql.Tx, events, deliveries []string) error {
	encodedEvents, err := list(events)
	if err != nil {
		return err
	}
	encodedDeliveries, err := list(deliveries)
	if err != nil {
		return err
	}
	if _, err := exec(ctx, tx, redactEventsSQL+"id IN (SELECT value FROM json_each(?1))", encodedEvents); err != nil {
		return err
	}
	_, err = exec(ctx, tx, redactAttemptsSQL+"(SELECT value FROM json_each(?1))", encodedDeliveries)
	return err
}
