package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Complete implements delivery.Queue. Disabling an endpoint that answered 410 and redacting what belongs to an erased contact
// are part of the transaction. Whether an endpoint has been dead for too long is looked at afterwards: it can take a
// while, and it is the same a moment later.
func (s *Store) Complete(ctx context.Context, results []delivery.Result, now time.Time) error {
	if len(results) == 0 {
		return nil
	}
	disables := slices.ContainsFunc(results, func(result delivery.Result) bool { return result.Decision.Disable != "" })
	if disables {
		if err := s.PlaceAll(ctx, s.app); err != nil {
			return err
		}
	}
	_, err := s.commit(func(tx sqlite.Reader) (statements []sqlite.Statement, err error) {
		if disables { // what happened before is still for the endpoint
			if statements, err = planRest(tx, now); err != nil {
				return nil, err
			}
		}
		stores, err := planResults(tx, results, now)
		return append(statements, stores...), err
	})
	if err != nil {
		return fmt.Errorf("storing the results of %d attempts: %w", len(results), err)
	}
	jobs, ended := make([]*delivery.Job, len(results)), make(map[string]string, len(results))
	for i, result := range results {
		jobs[i] = result.Job
		ended[result.Job.Endpoint.WebhookID] = result.Job.Endpoint.TenantID
	}
	s.letGo(jobs)
	s.noteReady(ended, now)
	s.disableDead(ctx, results, now)
	return nil
}

// planResults returns the statements that store results, and what follows from them.
func planResults(tx sqlite.Reader, results []delivery.Result, now time.Time) ([]sqlite.Statement, error) {
	held, followed, err := stillHeld(tx, results)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	statements := store(held, now)
	redaction, err := redactFinished(tx, held)
	if err != nil {
		return nil, err
	}
	statements = append(statements, redaction...)
	if len(followed) > 0 {
		next, err := lined(lineUpNextSQL, followed, stamp.Stored(now))
		if err != nil {
			return nil, err
		}
		statements = append(statements, next)
	}
	return statements, nil
}

// stillHeld returns the results whose claims were not lost, and those of their deliveries that others are behind.
func stillHeld(tx sqlite.Reader, results []delivery.Result) (held []delivery.Result, followed []string, err error) {
	claims := make([][3]any, len(results))
	for i, result := range results {
		claims[i] = [3]any{result.Job.DeliveryID, result.Job.Attempt - 1, mark(result.Job)}
	}
	encoded, err := list(claims)
	if err != nil {
		return nil, nil, err
	}
	err = sqlite.Each(tx, heldSQL, func(rows *sql.Rows) error {
		var number int
		var others bool
		err := rows.Scan(&number, &others)
		held = append(held, results[number])
		if others {
			followed = append(followed, results[number].Job.DeliveryID)
		}
		return err
	}, encoded)
	return held, followed, err
}

// idsOf reads a column of ids.
func idsOf(tx sqlite.Reader, query string, args ...any) (map[string]bool, error) {
	ids := map[string]bool{}
	err := sqlite.Each(tx, query, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids[id] = true
		return err
	}, args...)
	return ids, err
}

// store returns the statements that write results.
func store(results []delivery.Result, now time.Time) []sqlite.Statement {
	at := stamp.Stored(now)
	finished, attempts := make([][]any, len(results)), make([][]any, len(results))
	var disabled []sqlite.Statement
	for i, result := range results {
		job, attempt, decision := result.Job, result.Attempt, result.Decision
		next := ""
		if decision.Status == delivery.StatusPending {
			next = stamp.Stored(decision.Next)
		}
		finished[i] = []any{
			decision.Status, job.Attempt, next, attempt.Status, attempt.LastError(), at, job.DeliveryID, job.Attempt - 1, mark(job),
		}
		attempts[i] = []any{
			job.DeliveryID, attempt.Number, stamp.Stored(attempt.Started), attempt.Duration.Milliseconds(),
			attempt.Status, attempt.Error, attempt.RequestHeaders, attempt.ResponseHeaders, attempt.ResponseBody,
		}
		if decision.Disable != "" {
			disabled = append(disabled, statement(disableSQL, job.Endpoint.WebhookID, decision.Disable, at))
		}
	}
	return append([]sqlite.Statement{sqlite.Repeat(finishSQL, finished), sqlite.Repeat(attemptSQL, attempts)}, disabled...)
}

// redactFinished returns the statements that redact what is delivered or given up of contacts that were erased in the
// meantime.
func redactFinished(tx sqlite.Reader, results []delivery.Result) ([]sqlite.Statement, error) {
	finished := slices.DeleteFunc(slices.Clone(results), func(result delivery.Result) bool {
		return result.Decision.Status == delivery.StatusPending || result.Job.ContactID == ""
	})
	if len(finished) == 0 {
		return nil, nil
	}
	contacts := make([]string, len(finished))
	for i, result := range finished {
		contacts[i] = result.Job.ContactID
	}
	slices.Sort(contacts)
	encoded, err := list(slices.Compact(contacts))
	if err != nil {
		return nil, err
	}
	erased, err := idsOf(tx, erasedContactsSQL, encoded)
	if err != nil || len(erased) == 0 {
		return nil, err
	}
	var events, deliveries []string
	for _, result := range finished {
		if erased[result.Job.ContactID] {
			events = append(events, result.Job.EventID)
			deliveries = append(deliveries, result.Job.DeliveryID)
		}
	}
	return redact(events, deliveries)
}

func redact(events, deliveries []string) ([]sqlite.Statement, error) {
	encodedEvents, err := list(events)
	if err != nil {
		return nil, err
	}
	encodedDeliveries, err := list(deliveries)
	if err != nil {
		return nil, err
	}
	return []sqlite.Statement{
		statement(redactEventsSQL+"id IN (SELECT value FROM json_each(?1))", encodedEvents),
		statement(redactAttemptsSQL+"(SELECT value FROM json_each(?1))", encodedDeliveries),
	}, nil
}
