package delivery

import (
	"context"
	"fmt"
	"time"
)

// Ping sends a webhook.ping to the webhook now, whether it is disabled or not, and returns the attempt. That the
// endpoint cannot be reached or answers an error is no error of Ping. The error is sql.ErrNoRows where there is no such
// webhook.
//
// The event and its delivery are stored before, the attempt after, and nothing is locked in between. A ping ends with
// its attempt, delivered or failed. Were the process to die in between, the engine would send it later.
func Ping(ctx context.Context, store Store, sender *Sender, webhookID string) (*Attempt, error) {
	job, err := store.AddPing(ctx, webhookID, time.Now())
	if err != nil {
		return nil, fmt.Errorf("pinging the webhook %q: %w", webhookID, err)
	}
	attempt := sender.Send(ctx, job)
	decision := Policy{}.Next(job.Attempt, attempt.Outcome, time.Now(), 0)
	if err := store.Complete(ctx, []Result{{Job: job, Attempt: attempt, Decision: decision}}, time.Now()); err != nil {
		return nil, fmt.Errorf("pinging the webhook %q: %w", webhookID, err)
	}
	return attempt, nil
}
