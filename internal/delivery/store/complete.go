package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
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
	_, err := s.commit(func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		return s.planResults(tx, results, disables, now) // what happened before an endpoint was disabled is still for it
	})
	if err != nil {
		return fmt.Errorf("storing the results of %d attempts: %w", len(results), err)
	}
	jobs, ended := make([]*delivery.Job, len(results)), make(map[string]string, len(results))
	for i, result := range results {
		jobs[i] = result.Job
		ended[result.Job.Endpoint.WebhookID] = result.Job.Endpoint.TenantID
	}
	s.letGo(jobs, false)
	s.noteReady(ended, now)
	s.disableDead(ctx, results, now)
	return nil
}

// stored is a result that is stored, with the delivery as it is.
type stored struct {
	result   delivery.Result
	delivery string
	lease    string
}

// planResults returns the statements that store results, and what follows from them. They place the events of which results
// came before they were placed, with rest all events.
func (s *Store) planResults(tx sqlite.Reader, results []delivery.Result, rest bool, now time.Time) ([]sqlite.Statement, error) {
	placed, placedBefore, err := s.placeAnswered(tx, results, rest, now)
	if err != nil {
		return nil, err
	}
	held, followed, err := stillHeld(tx, placedBefore)
	if err != nil {
		return nil, err
	}
	var statements []sqlite.Statement
	if len(held) > 0 { // before others are placed behind them
		statements = append(statements, finish(held, now))
	}
	statements = append(statements, placed.statements...)
	held = append(held, placed.stored...)
	if len(held) == 0 {
		return statements, nil
	}
	statements = append(statements, store(held, now)...)
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

// placeAnswered places those events, and returns the results that it does not store.
func (s *Store) placeAnswered(tx sqlite.Reader, results []delivery.Result, rest bool, now time.Time) (placement, []delivery.Result, error) {
	early := map[target]delivery.Result{}
	for _, result := range results {
		if result.Job.Unplaced {
			early[target{result.Job.EventID, result.Job.Endpoint.WebhookID}] = result
		}
	}
	if len(early) == 0 && !rest {
		return placement{}, results, nil
	}
	placed, err := s.planPlacing(tx, placing{limit: math.MaxInt32, results: early, answered: !rest}, now)
	before := slices.DeleteFunc(slices.Clone(results), func(result delivery.Result) bool {
		_, left := early[target{result.Job.EventID, result.Job.Endpoint.WebhookID}]
		return result.Job.Unplaced && !left
	})
	return placed, before, err
}

// stillHeld returns the results whose claims were not lost, and those of their deliveries that others are behind.
func stillHeld(tx sqlite.Reader, results []delivery.Result) (held []stored, followed []string, err error) {
	claims := make([][]any, len(results))
	for i, result := range results {
		job := result.Job
		claims[i] = []any{job.EventID, job.Endpoint.WebhookID, job.Attempt - 1}
		if !job.Exclusive { // a claim in memory is the only one: its status and its attempts fence it
			claims[i] = append(claims[i], stamp.Stored(job.Lease))
		}
	}
	encoded, err := list(claims)
	if err != nil {
		return nil, nil, err
	}
	err = sqlite.Each(tx, heldSQL, func(rows *sql.Rows) error {
		var number int
		var found stored
		var others bool
		err := rows.Scan(&number, &found.delivery, &found.lease, &others)
		found.result = results[number]
		held = append(held, found)
		if others {
			followed = append(followed, found.delivery)
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

// finish returns the statement that writes results into their deliveries.
func finish(held []stored, now time.Time) sqlite.Statement {
	at := stamp.Stored(now)
	finished := make([][]any, len(held))
	for i, h := range held {
		job, attempt, decision := h.result.Job, h.result.Attempt, h.result.Decision
		finished[i] = []any{
			decision.Status, job.Attempt, nextAttempt(decision), attempt.Status, attempt.LastError(), at, h.delivery, job.Attempt - 1, h.lease,
		}
	}
	return sqlite.Repeat(finishSQL, finished)
}

// nextAttempt returns when a delivery is due again, as it is stored.
func nextAttempt(decision delivery.Decision) string {
	if decision.Status != delivery.StatusPending {
		return ""
	}
	return stamp.Stored(decision.Next)
}

// store returns the statements that write attempts, and what results say of endpoints.
func store(held []stored, now time.Time) []sqlite.Statement {
	attempts := make([][]any, len(held))
	var disabled []sqlite.Statement
	for i, h := range held {
		attempt := h.result.Attempt
		attempts[i] = []any{
			h.delivery, attempt.Number, stamp.Stored(attempt.Started), attempt.Duration.Milliseconds(),
			attempt.Status, attempt.Error, attempt.RequestHeaders, attempt.ResponseHeaders, attempt.ResponseBody,
		}
		if h.result.Decision.Disable != "" {
			disabled = append(disabled, statement(disableSQL, h.result.Job.Endpoint.WebhookID, h.result.Decision.Disable, stamp.Stored(now)))
		}
	}
	return append([]sqlite.Statement{sqlite.Repeat(attemptSQL, attempts)}, disabled...)
}

// redactFinished returns the statements that redact what is delivered or given up of contacts that were erased in the
// meantime.
func redactFinished(tx sqlite.Reader, held []stored) ([]sqlite.Statement, error) {
	finished := slices.DeleteFunc(slices.Clone(held), func(h stored) bool {
		return h.result.Decision.Status == delivery.StatusPending || h.result.Job.ContactID == ""
	})
	if len(finished) == 0 {
		return nil, nil
	}
	contacts := make([]string, len(finished))
	for i, h := range finished {
		contacts[i] = h.result.Job.ContactID
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
	for _, h := range finished {
		if erased[h.result.Job.ContactID] {
			events = append(events, h.result.Job.EventID)
			deliveries = append(deliveries, h.delivery)
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
