package delivery

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/stamp"
)

// Ping sends a webhook.ping to the webhook now, whether it is disabled or not, and returns the attempt. That the
// endpoint cannot be reached or answers an error is no error of Ping. The error is sql.ErrNoRows where there is no such
// webhook.
//
// The event and its delivery are stored before, the attempt after, and nothing is locked in between. A ping ends with
// its attempt, delivered or failed. Were the process to die in between, the engine would send it later.
func Ping(ctx context.Context, app core.App, sender *Sender, webhookID string) (*Attempt, error) {
	attempt, err := ping(ctx, app, sender, webhookID)
	if err != nil {
		return nil, fmt.Errorf("pinging the webhook %q: %w", webhookID, err)
	}
	return attempt, nil
}

func ping(ctx context.Context, app core.App, sender *Sender, webhookID string) (*Attempt, error) {
	queue := queueOf(app)
	job, err := queue.preparePing(ctx, webhookID, time.Now())
	if err != nil {
		return nil, err
	}
	attempt := sender.Send(ctx, job)
	decision := Policy{}.Next(job.Attempt, attempt.Outcome, time.Now(), 0)
	result := Result{Job: job, Attempt: attempt, Decision: decision}
	return attempt, queue.Complete(ctx, []Result{result}, time.Now())
}

// preparePing stores a ping and returns it as a claimed job.
func (q *SQLiteQueue) preparePing(ctx context.Context, webhookID string, now time.Time) (*Job, error) {
	lease := now.Add(defaultLease).UTC().Truncate(time.Millisecond)
	deliveryID := core.GenerateDefaultRandomId()
	err := q.app.RunInTransaction(func(tx core.App) error {
		var tenant string
		err := tx.DB().NewQuery("SELECT w.[[tenant]] FROM {{webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] WHERE w.[[id]] = {:id}").Bind(dbx.Params{"id": webhookID}).Row(&tenant)
		if err != nil {
			return err
		}
		e := &event.Event{Kind: event.WebhookPing, TenantID: tenant, Data: map[string]string{"webhook": webhookID}}
		if err := event.Write(tx, e, now); err != nil {
			return err
		}
		_, err = tx.DB().Insert("deliveries", dbx.Params{
			"id": deliveryID, "event": e.ID, "webhook": webhookID, "tenant": tenant, "status": StatusPending, "attempts": 0,
			"nextAttempt": stamp.Stored(now), "lastStatus": 0, "lastError": "", "leaseUntil": stamp.Stored(lease), "created": stamp.Stored(now), "updated": stamp.Stored(now),
		}).Execute()
		return err
	})
	if err != nil {
		return nil, err
	}
	var found claimed
	err = q.read(ctx, jobSQL, func(rows *sql.Rows) error {
		found, err = scanClaimed(rows)
		return err
	}, deliveryID)
	if err != nil {
		return nil, err
	}
	if found.job == nil {
		return nil, sql.ErrNoRows // deleted with its webhook a moment ago
	}
	endpoints, err := q.endpoints(ctx, []claimed{found}, now)
	if err != nil {
		return nil, err
	}
	found.job.Lease, found.job.Endpoint = lease, endpoints[webhookID]
	if found.job.Endpoint == nil {
		return nil, sql.ErrNoRows
	}
	return found.job, nil
}
