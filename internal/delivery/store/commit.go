package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// Commit implements delivery.Queue. The transaction also disables endpoints that answered 410 and redacts events of
// erased contacts. Commit looks for dead endpoints afterwards: that can take a while, and the result is the same a
// moment later.
func (s *Store) Commit(_ context.Context, commit delivery.Commit) (ready []delivery.Ready, err error) {
	if len(commit.Results) == 0 && len(commit.Drained) == 0 {
		return nil, nil
	}
	_, err = sqlite.Write(s.app, func(tx sqlite.Reader) (statements []sqlite.Statement, err error) {
		statements, ready, err = planCommit(tx, commit)
		return statements, err
	})
	if err != nil {
		return nil, fmt.Errorf("storing the results of %d attempts: %w", len(commit.Results), err)
	}
	s.logDisabled(commit.Results...)
	s.disableDead(commit.Results, commit.Now)
	return ready, nil
}

// planCommit returns the statements that store results with their effects, and the endpoints whose next deliveries they
// make due. Results of deliveries that are gone or have changed are dropped.
func planCommit(
	tx sqlite.Reader, commit delivery.Commit,
) (statements []sqlite.Statement, ready []delivery.Ready, err error) {
	for _, id := range commit.Drained {
		statements = append(statements, tenant.Drained(id))
	}
	done, followed, err := current(tx, commit.Results)
	if err != nil || len(done) == 0 {
		return statements, nil, err
	}
	stored, err := storeResults(tx, done, commit.Now)
	if err != nil {
		return nil, nil, err
	}
	redaction, err := redactFinished(tx, done)
	if err != nil {
		return nil, nil, err
	}
	statements = slices.Concat(statements, stored, redaction)
	if len(followed) > 0 {
		var next sqlite.Statement
		next, ready = enqueueNext(followed, commit.Now)
		statements = append(statements, next)
	}
	return statements, ready, nil
}

// enqueueNext makes the deliveries behind those of results due, and returns their endpoints.
func enqueueNext(followed []delivery.Result, now time.Time) (sqlite.Statement, []delivery.Ready) {
	ids, ready := make([]string, len(followed)), make([]delivery.Ready, len(followed))
	for i, result := range followed {
		endpoint := result.Job.Endpoint
		ids[i], ready[i] = result.Job.DeliveryID, delivery.Ready{Webhook: endpoint.WebhookID, Tenant: endpoint.TenantID}
	}
	return enqueue(enqueueNextSQL, ids, stamp.Stored(now)), ready
}

// currentSQL returns the deliveries in ?1 that have not changed since their attempts, by their indexes in the list, and
// whether another delivery waits for each. An entry of the list has the delivery and the number of earlier attempts.
// Those of deleted webhooks and tenants, which are about to be deleted, are not among them.
const currentSQL = `SELECT j.key, EXISTS (
	SELECT 1 FROM deliveries n WHERE n.webhook = d.webhook AND n.contact = d.contact AND n.contact != ''
		AND n.status = 'pending' AND n.rowid > d.rowid
) FROM json_each(?1) j CROSS JOIN deliveries d ON d.id = j.value ->> 0
WHERE d.status = 'pending' AND d.attempts = j.value ->> 1
AND EXISTS (SELECT 1 FROM webhooks w CROSS JOIN tenants t ON t.id = w.tenant WHERE w.id = d.webhook)`

// current returns the results whose deliveries have not changed since they were attempted, and among them those of
// deliveries that others wait for.
func current(tx sqlite.Reader, results []delivery.Result) (done, followed []delivery.Result, err error) {
	if len(results) == 0 {
		return nil, nil, nil
	}
	attempted := make([][]any, len(results))
	for i, result := range results {
		attempted[i] = []any{result.Job.DeliveryID, result.Job.Attempt - 1}
	}
	err = sqlite.Each(tx, currentSQL, func(rows *sql.Rows) error {
		var number int
		var others bool
		err := rows.Scan(&number, &others)
		done = append(done, results[number])
		if others {
			followed = append(followed, results[number])
		}
		return err
	}, sqlite.List(attempted))
	return done, followed, err
}

// finishSQL stores the result of an attempt in the delivery ?7, which had ?8 earlier attempts. It clears blocked: an
// attempted delivery waits for no other, even if one came in front of it meanwhile.
const finishSQL = `UPDATE deliveries SET status = ?1, attempts = ?2, nextAttempt = ?3, lastStatus = ?4, lastError = ?5,
	updated = ?6, blocked = 0
WHERE id = ?7 AND status = 'pending' AND attempts = ?8`

// nextAttempt returns when a delivery is due again, as it is stored.
func nextAttempt(decision delivery.Decision) string {
	if decision.Status != delivery.StatusPending {
		return ""
	}
	return stamp.Stored(decision.Next)
}

const attemptSQL = `INSERT INTO delivery_attempts
	(id, delivery, number, started, durationMs, status, error, requestHeaders, responseHeaders, responseBody)
VALUES (` + recordid.Function + `, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`

// storeResults returns the statements that store results in their deliveries, insert the attempts and disable
// endpoints.
func storeResults(tx sqlite.Reader, done []delivery.Result, now time.Time) ([]sqlite.Statement, error) {
	at := stamp.Stored(now)
	finished, attempts := make([][]any, len(done)), make([][]any, len(done))
	reasons := map[string]string{} // of the endpoints to disable
	for i, result := range done {
		job, attempt, decision := result.Job, result.Attempt, result.Decision
		finished[i] = []any{
			decision.Status, job.Attempt, nextAttempt(decision), attempt.Status, attempt.LastError(), at,
			job.DeliveryID, job.Attempt - 1,
		}
		attempts[i] = []any{
			job.DeliveryID, attempt.Number, stamp.Stored(attempt.Started), attempt.Duration.Milliseconds(),
			attempt.Status, attempt.Error, attempt.RequestHeaders, attempt.ResponseHeaders, attempt.ResponseBody,
		}
		if decision.Disable != "" {
			reasons[job.Endpoint.WebhookID] = decision.Disable
		}
	}
	statements := []sqlite.Statement{sqlite.Repeat(finishSQL, finished), sqlite.Repeat(attemptSQL, attempts)}
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
func redactFinished(tx sqlite.Reader, done []delivery.Result) ([]sqlite.Statement, error) {
	over := slices.DeleteFunc(slices.Clone(done), func(result delivery.Result) bool {
		return result.Decision.Status == delivery.StatusPending || result.Job.ContactID == ""
	})
	if len(over) == 0 {
		return nil, nil
	}
	contacts := make([]string, len(over))
	for i, result := range over {
		contacts[i] = result.Job.ContactID
	}
	slices.Sort(contacts)
	erased, err := sqlite.Values[string](tx, erasedContactsSQL, sqlite.List(slices.Compact(contacts)))
	if err != nil || len(erased) == 0 {
		return nil, err
	}
	var events, deliveries []string
	for _, result := range over {
		if slices.Contains(erased, result.Job.ContactID) {
			events = append(events, result.Job.EventID)
			deliveries = append(deliveries, result.Job.DeliveryID)
		}
	}
	return []sqlite.Statement{
		redactEvents(events),
		statement(redactAttemptsSQL+"(SELECT value FROM json_each(?1))", sqlite.List(deliveries)),
	}, nil
}
