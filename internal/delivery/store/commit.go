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
	"contactbase/internal/tenant"
)

// Commit implements delivery.Queue. The transaction also disables endpoints that answered 410 and redacts events of erased contacts.
// Commit looks for dead endpoints afterwards: that can take a while, and the result is the same a moment later.
func (s *Store) Commit(_ context.Context, commit delivery.Commit) (out delivery.FannedOut, err error) {
	if len(commit.Results) == 0 && len(commit.Drained) == 0 {
		return out, nil
	}
	order := fanOutOrder{limit: math.MaxInt32, results: byTarget(commit.Results)}
	err = s.write(order, func(tx sqlite.Reader, order fanOutOrder) ([]sqlite.Statement, error) {
		statements, pending, err := s.planCommit(tx, commit, order)
		out.Pending = pending
		return statements, err
	})
	if err != nil {
		return delivery.FannedOut{}, fmt.Errorf("storing the results of %d attempts: %w", len(commit.Results), err)
	}
	s.logDisabled(commit.Results...)
	s.disableDead(commit.Results, commit.Now)
	return out, nil
}

// finished is a result that is stored, and its delivery.
type finished struct {
	result   delivery.Result
	delivery string
}

func byTarget(results []delivery.Result) map[target]delivery.Result {
	found := make(map[target]delivery.Result, len(results))
	for _, result := range results {
		found[target{result.Job.EventID, result.Job.Endpoint.WebhookID}] = result
	}
	return found
}

// planCommit returns the statements that store results with their effects, and the endpoints that have new pending deliveries. They fan
// out the events up to the last one with a result.
func (s *Store) planCommit(tx sqlite.Reader, commit delivery.Commit, order fanOutOrder) (statements []sqlite.Statement, pending []delivery.Ready, err error) {
	for _, id := range commit.Drained {
		statements = append(statements, tenant.Drained(id))
	}
	if len(commit.Results) == 0 {
		return statements, nil, nil
	}
	f, err := s.planFanOut(tx, order, commit.Now)
	if err != nil {
		return nil, nil, err
	}
	stored := make(map[*delivery.Job]bool, len(f.finished)) // by fan-out
	for _, one := range f.finished {
		stored[one.result.Job] = true
	}
	done, followed, err := current(tx, slices.DeleteFunc(slices.Clone(commit.Results), func(result delivery.Result) bool {
		return stored[result.Job]
	}))
	if err != nil {
		return nil, nil, err
	}
	if len(done) > 0 { // before others are queued behind them
		statements = append(statements, finish(done, commit.Now))
	}
	statements = append(statements, f.statements...)
	done = append(done, f.finished...)
	if len(done) == 0 {
		return statements, f.pending, nil
	}
	attempts, err := storeAttempts(tx, done, commit.Now)
	if err != nil {
		return nil, nil, err
	}
	statements = append(statements, attempts...)
	redaction, err := redactFinished(tx, done)
	if err != nil {
		return nil, nil, err
	}
	statements = append(statements, redaction...)
	if len(followed) > 0 {
		next, ready := enqueueNext(followed, commit.Now)
		statements, pending = append(statements, next), ready
	}
	return statements, append(pending, f.pending...), nil
}

// enqueueNext makes the deliveries behind finished ones due, and returns their endpoints.
func enqueueNext(followed []finished, now time.Time) (sqlite.Statement, []delivery.Ready) {
	ids, ready := make([]string, len(followed)), make([]delivery.Ready, len(followed))
	for i, f := range followed {
		endpoint := f.result.Job.Endpoint
		ids[i], ready[i] = f.delivery, delivery.Ready{Webhook: endpoint.WebhookID, Tenant: endpoint.TenantID}
	}
	return enqueue(enqueueNextSQL, ids, stamp.Stored(now)), ready
}

// current returns the results whose deliveries have not changed since they were attempted, and among them those of deliveries that others wait for.
func current(tx sqlite.Reader, results []delivery.Result) (done, followed []finished, err error) {
	if len(results) == 0 {
		return nil, nil, nil
	}
	attempted := make([][]any, len(results))
	for i, result := range results {
		attempted[i] = []any{result.Job.EventID, result.Job.Endpoint.WebhookID, result.Job.Attempt - 1}
	}
	err = sqlite.Each(tx, currentSQL, func(rows *sql.Rows) error {
		var number int
		var found finished
		var others bool
		err := rows.Scan(&number, &found.delivery, &others)
		found.result = results[number]
		done = append(done, found)
		if others {
			followed = append(followed, found)
		}
		return err
	}, sqlite.List(attempted))
	return done, followed, err
}

// finish returns the statement that stores results in their deliveries.
func finish(done []finished, now time.Time) sqlite.Statement {
	at := stamp.Stored(now)
	rows := make([][]any, len(done))
	for i, f := range done {
		job, attempt, decision := f.result.Job, f.result.Attempt, f.result.Decision
		rows[i] = []any{
			decision.Status, job.Attempt, nextAttempt(decision), attempt.Status, attempt.LastError(), at, f.delivery, job.Attempt - 1,
		}
	}
	return sqlite.Repeat(finishSQL, rows)
}

// nextAttempt returns when a delivery is due again, as it is stored.
func nextAttempt(decision delivery.Decision) string {
	if decision.Status != delivery.StatusPending {
		return ""
	}
	return stamp.Stored(decision.Next)
}

// storeAttempts returns the statements that insert attempts and disable endpoints.
func storeAttempts(tx sqlite.Reader, done []finished, now time.Time) ([]sqlite.Statement, error) {
	attempts := make([][]any, len(done))
	reasons := map[string]string{} // of the endpoints to disable
	for i, f := range done {
		attempt := f.result.Attempt
		attempts[i] = []any{
			f.delivery, attempt.Number, stamp.Stored(attempt.Started), attempt.Duration.Milliseconds(),
			attempt.Status, attempt.Error, attempt.RequestHeaders, attempt.ResponseHeaders, attempt.ResponseBody,
		}
		if f.result.Decision.Disable != "" {
			reasons[f.result.Job.Endpoint.WebhookID] = f.result.Decision.Disable
		}
	}
	statements := []sqlite.Statement{sqlite.Repeat(attemptSQL, attempts)}
	for webhook, reason := range reasons {
		disabled, err := disabling(tx, webhook, reason, now)
		if err != nil {
			return nil, err
		}
		statements = append(statements, disabled...)
	}
	return statements, nil
}

// redactFinished returns the statements that redact the finished deliveries of contacts that were erased meanwhile.
func redactFinished(tx sqlite.Reader, done []finished) ([]sqlite.Statement, error) {
	over := slices.DeleteFunc(slices.Clone(done), func(f finished) bool {
		return f.result.Decision.Status == delivery.StatusPending || f.result.Job.ContactID == ""
	})
	if len(over) == 0 {
		return nil, nil
	}
	contacts := make([]string, len(over))
	for i, f := range over {
		contacts[i] = f.result.Job.ContactID
	}
	slices.Sort(contacts)
	erased, err := sqlite.Values[string](tx, erasedContactsSQL, sqlite.List(slices.Compact(contacts)))
	if err != nil || len(erased) == 0 {
		return nil, err
	}
	var events, deliveries []string
	for _, f := range over {
		if slices.Contains(erased, f.result.Job.ContactID) {
			events = append(events, f.result.Job.EventID)
			deliveries = append(deliveries, f.delivery)
		}
	}
	return []sqlite.Statement{
		statement(redactEventsSQL+"id IN (SELECT value FROM json_each(?1))", sqlite.List(events)),
		statement(redactAttemptsSQL+"(SELECT value FROM json_each(?1))", sqlite.List(deliveries)),
	}, nil
}
