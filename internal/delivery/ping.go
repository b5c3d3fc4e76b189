package delivery

import (
	"context"
	"fmt"
	"time"
)

// Pinger stores pings. The error is sql.ErrNoRows if there is no such webhook.
type Pinger interface {
	Ping(webhookID string, now time.Time, send func(*Job) Result) error
}

// Ping sends a webhook.ping to the webhook now, even if it is disabled, and returns the attempt. An endpoint that cannot be reached or
// answers an error is not an error of Ping. The error is sql.ErrNoRows if there is no such
// webhook.
//
// A ping has one attempt. Event, delivery and attempt are stored together afterwards, so a crash in between forgets the ping.
func Ping(ctx context.Context, store Pinger, sender *Sender, webhookID string) (*Attempt, error) {
	var attempt *Attempt
	err := store.Ping(webhookID, time.Now(), func(job *Job) Result {
		attempt = sender.Send(ctx, job)
		return Result{Job: job, Attempt: attempt, Decision: Policy{}.Next(1, attempt.Outcome, time.Now(), 0)}
	})
	if err != nil {
		return nil, fmt.Errorf("pinging the webhook %q: %w", webhookID, err)
	}
	return attempt, nil
}
