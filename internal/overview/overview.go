// Package overview answers what the dashboard shows beside single records: counts, the health of webhooks, and lists of
// deliveries. Every query ends after a bounded number of rows, so that a busy installation costs no more than a quiet one.
package overview

import (
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/quota"
	"contactbase/internal/stamp"
)

const (
	// countCap is where counting ends: beyond it "10,000 or more" says as much.
	countCap = 10_000

	// healthWindow is the time that the health of a webhook is about.
	healthWindow = 24 * time.Hour
)

// Health is how a webhook has been doing.
type Health struct {
	Webhook       string  `json:"webhook"`
	Delivered     int     `json:"delivered"` // of the deliveries made in the last 24 hours, the latest 10,000
	Failed        int     `json:"failed"`    // of the same
	Pending       int     `json:"pending"`   // at most 10,000
	OldestPending *string `json:"oldestPending"`

	State          HealthState `json:"state"`
	Attempts       int64       `json:"attempts"`       // in the last 24 hours
	FailedAttempts int64       `json:"failedAttempts"` // of those
}

// HealthState is how a webhook is doing, in a word.
type HealthState string

// The states.
const (
	Healthy   HealthState = "healthy"
	Failing   HealthState = "failing"  // most attempts of its last hour with any failed
	Disabled  HealthState = "disabled" // by a person or by the program
	NoTraffic HealthState = "no_traffic"
)

// Webhooks returns the health of each of the webhooks, in the order of their ids here.
func Webhooks(app core.App, ids []string, now time.Time) ([]Health, error) {
	list := make([]Health, 0, len(ids))
	for _, id := range ids {
		health, err := webhook(app, id, now)
		if err != nil {
			return nil, fmt.Errorf("reading the health of the webhook %q: %w", id, err)
		}
		list = append(list, health)
	}
	return list, nil
}

func webhook(app core.App, id string, now time.Time) (Health, error) {
	health := Health{Webhook: id}
	var row struct {
		Delivered int `db:"delivered"`
		Failed    int `db:"failed"`
	}
	err := app.DB().NewQuery(
		"SELECT COALESCE(SUM([[status]] = 'delivered'), 0) AS [[delivered]], COALESCE(SUM([[status]] = 'failed'), 0) AS [[failed]] FROM (" +
			"SELECT [[status]] FROM {{deliveries}} WHERE [[webhook]] = {:webhook} AND [[created]] >= {:since} " +
			"ORDER BY [[created]] DESC LIMIT {:cap})",
	).Bind(dbx.Params{"webhook": id, "since": stamp.Stored(now.Add(-healthWindow)), "cap": countCap}).One(&row)
	if err != nil {
		return health, err
	}
	health.Delivered, health.Failed = row.Delivered, row.Failed

	var pending struct {
		Count  int    `db:"count"`
		Oldest string `db:"oldest"`
	}
	err = app.DB().NewQuery(
		"SELECT COUNT(*) AS [[count]], COALESCE(MIN([[created]]), '') AS [[oldest]] FROM (" +
			"SELECT [[created]] FROM {{deliveries}} WHERE [[webhook]] = {:webhook} AND [[status]] = 'pending' " +
			"ORDER BY [[blocked]], [[nextAttempt]] LIMIT {:cap})",
	).Bind(dbx.Params{"webhook": id, "cap": countCap}).One(&pending)
	if err != nil {
		return health, err
	}
	health.Pending, health.OldestPending = pending.Count, shown(pending.Oldest)
	return health, health.judge(app, now)
}

// judge adds the attempts of the last 24 hours, and the state that follows from the last of them.
func (h *Health) judge(app core.App, now time.Time) error {
	steps, err := activity.OfWebhook(app, h.Webhook, activity.Day(now))
	if err != nil {
		return err
	}
	h.State = NoTraffic
	for _, step := range steps {
		if step.Total() == 0 {
			continue
		}
		h.Attempts += step.Total()
		h.FailedAttempts += step.Retried + step.Failed
		h.State = Healthy
		if step.Failing() {
			h.State = Failing
		}
	}
	disabled, err := app.CountRecords("webhooks", dbx.HashExp{"id": h.Webhook, "disabled": true})
	if disabled > 0 {
		h.State = Disabled
	}
	return err
}

// Counts is how much belongs to a tenant, each at most 10,000.
type Counts struct {
	Tenant   string `json:"tenant" db:"tenant"`
	Contacts int    `json:"contacts" db:"contacts"`
	Keys     int    `json:"keys" db:"keys"`
	Webhooks int    `json:"webhooks" db:"webhooks"`
	Inbound  int    `json:"inbound" db:"inbound"`

	// how much is stored of its calls, inbound requests and remembered answers, and how much may be, in bytes
	StoredBytes int64 `json:"storedBytes" db:"storedBytes"`
	StoredLimit int64 `json:"storedLimit" db:"-"`

	State string `json:"state" db:"state"` // open; frozen or arriving where the tenant moves, and is closed for writes
}

// Tenants returns the counts of each of the tenants, in the order of their ids here.
func Tenants(app core.App, ids []string) ([]Counts, error) {
	list := make([]Counts, 0, len(ids))
	for _, id := range ids {
		counts := Counts{StoredLimit: quota.Limit}
		err := app.DB().NewQuery(
			"SELECT {:tenant} AS [[tenant]], " +
				countOf("contacts") + " AS [[contacts]], " +
				countOf("api_keys") + " AS [[keys]], " +
				countOf("webhooks") + " AS [[webhooks]], " +
				countOf("inbound_webhooks") + " AS [[inbound]], " +
				"COALESCE((SELECT [[bytes]] FROM {{_stored}} WHERE [[tenant]] = {:tenant}), 0) AS [[storedBytes]], " +
				"COALESCE((SELECT [[state]] FROM {{_moves}} WHERE [[tenant]] = {:tenant}), 'open') AS [[state]]",
		).Bind(dbx.Params{"tenant": id, "cap": countCap}).One(&counts)
		if err != nil {
			return nil, fmt.Errorf("counting what belongs to the tenant %q: %w", id, err)
		}
		list = append(list, counts)
	}
	return list, nil
}

// countOf returns the query that counts {:tenant}'s rows in a table up to {:cap}, which the index of its tenants answers.
func countOf(table string) string {
	return "(SELECT COUNT(*) FROM (SELECT 1 FROM {{" + table + "}} WHERE [[tenant]] = {:tenant} LIMIT {:cap}))"
}

// shown returns a stored time as the API writes it; nil for an empty one.
func shown(stored string) *string {
	if stored == "" {
		return nil
	}
	text := stamp.Show(stored)
	return &text
}
