package overview

import (
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/stamp"
)

const healthWindow = 24 * time.Hour

// HealthState is the state of a webhook's health, by its attempts of the last 24 hours.
type HealthState string

// The states. The first that fits counts.
const (
	Disabled HealthState = "disabled" // by a person or by the program
	Idle     HealthState = "idle"     // no attempt
	Failing  HealthState = "failing"  // over 50 % failed, or none of the last 10 succeeded
	Degraded HealthState = "degraded" // 5 to 50 % failed
	Healthy  HealthState = "healthy"
)

// HealthStates are all of them.
var HealthStates = []HealthState{Healthy, Degraded, Failing, Disabled, Idle}

func healthOf(disabled bool, a activity.Attempts) HealthState {
	failed := a.Retried + a.Failed
	switch {
	case disabled:
		return Disabled
	case a.Total() == 0:
		return Idle
	case failed*2 > a.Total() || a.Streak >= activity.FailingStreak:
		return Failing
	case failed*20 >= a.Total():
		return Degraded
	default:
		return Healthy
	}
}

// Trouble says since when all attempts of a webhook have failed, and why the last one did. Both are nil if its last
// attempt succeeded.
type Trouble struct {
	FailingSince *string `json:"failingSince" db:"-"`
	LastError    *string `json:"lastError" db:"-"` // at most 200 characters; nil also if it is unknown
}

func troubleOf(f activity.Failure) (trouble Trouble) {
	if trouble.FailingSince = shown(f.Since); f.Reason != "" {
		trouble.LastError = &f.Reason
	}
	return trouble
}

// Health is the health of a webhook.
type Health struct {
	Webhook       string  `json:"webhook"`
	Delivered     int     `json:"delivered"` // of the last 10,000 deliveries created in the last 24 hours
	Failed        int     `json:"failed"`    // of the same
	Pending       int     `json:"pending"`   // at most 10,000
	OldestPending *string `json:"oldestPending"`

	State          HealthState `json:"state"`
	Attempts       int64       `json:"attempts"`       // in the last 24 hours
	FailedAttempts int64       `json:"failedAttempts"` // of those
	Trouble
}

// Webhooks returns the health of webhooks, in the order of their ids.
func Webhooks(app core.App, ids []string, now time.Time) ([]Health, error) {
	attempts, err := activity.OfEachWebhook(app, ids, activity.Day(now))
	if err != nil {
		return nil, err
	}
	failures, err := activity.Failures(app, ids)
	if err != nil {
		return nil, err
	}
	list := make([]Health, 0, len(ids))
	for _, id := range ids {
		a := attempts[id]
		health := Health{
			Webhook: id, Attempts: a.Total(), FailedAttempts: a.Retried + a.Failed, Trouble: troubleOf(failures[id]),
		}
		disabled, err := app.CountRecords("webhooks", dbx.HashExp{"id": id, "disabled": true})
		if err == nil {
			health.State = healthOf(disabled > 0, a)
			err = health.countDeliveries(app, now)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the health of the webhook %q: %w", id, err)
		}
		list = append(list, health)
	}
	return list, nil
}

func (h *Health) countDeliveries(app core.App, now time.Time) error {
	err := app.DB().NewQuery(
		"SELECT COALESCE(SUM([[status]] = 'delivered'), 0), COALESCE(SUM([[status]] = 'failed'), 0) FROM ("+
			"SELECT [[status]] FROM {{deliveries}} WHERE [[webhook]] = {:webhook} AND [[created]] >= {:since} "+
			"ORDER BY [[created]] DESC LIMIT {:cap})",
	).Bind(dbx.Params{"webhook": h.Webhook, "since": stamp.Stored(now.Add(-healthWindow)), "cap": countCap}).
		Row(&h.Delivered, &h.Failed)
	if err != nil {
		return err
	}
	var oldest string
	err = app.DB().NewQuery(
		"SELECT COUNT(*), COALESCE(MIN([[created]]), '') FROM ("+
			"SELECT [[created]] FROM {{deliveries}} WHERE [[webhook]] = {:webhook} AND [[status]] = 'pending' "+
			"ORDER BY [[blocked]], [[nextAttempt]] LIMIT {:cap})",
	).Bind(dbx.Params{"webhook": h.Webhook, "cap": countCap}).Row(&h.Pending, &oldest)
	h.OldestPending = shown(oldest)
	return err
}
