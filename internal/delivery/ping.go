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
// A ping has one attempt. Event, delivery and attempt are stored together after it; a process that dies in between forgets the ping.
func Ping(ctx context.Context, store Store, sender *Sender, webhookID string) (*Attempt, error) {
	var attempt *Attempt
	err := store.Ping(ctx, webhookID, time.Now(), func(job *Job) Result {
		attempt = sender.Send(ctx, job)
		return Result{Job: job, Attempt: attempt, Decision: Policy{}.Next(1, attempt.Outcome, time.Now(), 0)}
	})
	if err != nil {
		return nil, fmt.Errorf("pinging the webhook %q: %w", webhookID, err)
	}
	return attempt, nil
}
