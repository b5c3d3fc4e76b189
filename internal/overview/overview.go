// Package overview reads what the dashboard shows about many records: counts, the health of webhooks, and lists of
// deliveries. Every query reads a limited number of rows, so that it takes no longer in a busy installation.
package overview

import (
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/contact/imports"
	"contactbase/internal/quota"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

const (
	countCap     = 10_000 // where counting ends
	healthWindow = 24 * time.Hour
)

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
}

// HealthState is the state of a webhook's health.
type HealthState string

// The states.
const (
	Healthy   HealthState = "healthy"
	Failing   HealthState = "failing"  // see activity.Failing
	Disabled  HealthState = "disabled" // by a person or by the program
	NoTraffic HealthState = "no_traffic"
)

// Webhooks returns the health of webhooks, in the order of their ids.
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
	err := app.DB().NewQuery(
		"SELECT COALESCE(SUM([[status]] = 'delivered'), 0), COALESCE(SUM([[status]] = 'failed'), 0) FROM ("+
			"SELECT [[status]] FROM {{deliveries}} WHERE [[webhook]] = {:webhook} AND [[created]] >= {:since} "+
			"ORDER BY [[created]] DESC LIMIT {:cap})",
	).Bind(dbx.Params{"webhook": id, "since": stamp.Stored(now.Add(-healthWindow)), "cap": countCap}).
		Row(&health.Delivered, &health.Failed)
	if err != nil {
		return health, err
	}
	var oldest string
	err = app.DB().NewQuery(
		"SELECT COUNT(*), COALESCE(MIN([[created]]), '') FROM ("+
			"SELECT [[created]] FROM {{deliveries}} WHERE [[webhook]] = {:webhook} AND [[status]] = 'pending' "+
			"ORDER BY [[blocked]], [[nextAttempt]] LIMIT {:cap})",
	).Bind(dbx.Params{"webhook": id, "cap": countCap}).Row(&health.Pending, &oldest)
	if err != nil {
		return health, err
	}
	health.OldestPending = shown(oldest)
	return health, health.addAttempts(app, now)
}

// addAttempts adds the attempts of the last 24 hours, and the state that follows from them.
func (h *Health) addAttempts(app core.App, now time.Time) error {
	steps, err := activity.OfWebhook(app, h.Webhook, activity.Day(now))
	if err != nil {
		return err
	}
	h.State = NoTraffic
	var last activity.Attempts
	for _, step := range steps {
		if step.Total() == 0 {
			continue
		}
		h.Attempts += step.Total()
		h.FailedAttempts += step.Retried + step.Failed
		h.State, last = Healthy, step
	}
	failing, err := activity.Failing(app, h.Webhook, last, now.Add(-healthWindow))
	if err != nil {
		return err
	}
	if failing {
		h.State = Failing
	}
	disabled, err := app.CountRecords("webhooks", dbx.HashExp{"id": h.Webhook, "disabled": true})
	if disabled > 0 {
		h.State = Disabled
	}
	return err
}

// Counts has the number of a tenant's records, each at most 10,000.
type Counts struct {
	Tenant   string `json:"tenant" db:"tenant"`
	Contacts int    `json:"contacts" db:"contacts"`
	Keys     int    `json:"keys" db:"keys"`
	Webhooks int    `json:"webhooks" db:"webhooks"`
	Inbound  int    `json:"inbound" db:"inbound"`

	StoredBytes int64 `json:"storedBytes" db:"storedBytes"` // of inbound requests and remembered responses
	StoredLimit int64 `json:"storedLimit" db:"-"`

	State string `json:"state" db:"state"` // a tenant.State, or open
}

// Tenants returns the counts of tenants, in the order of their ids.
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
				"COALESCE(NULLIF(" + tenant.StateSQL("{:tenant}") + ", ''), 'open') AS [[state]]",
		).Bind(dbx.Params{"tenant": id, "cap": countCap}).One(&counts)
		if err != nil {
			return nil, fmt.Errorf("counting the records of the tenant %q: %w", id, err)
		}
		list = append(list, counts)
	}
	return list, nil
}

// Usage is what a tenant stores of what its quotas limit, in bytes.
type Usage struct {
	StoredBytes int64 `json:"storedBytes"` // of inbound requests and remembered responses
	StoredLimit int64 `json:"storedLimit"`
	ImportBytes int64 `json:"importBytes"`
	ImportLimit int64 `json:"importLimit"`
}

// UsageOf returns what a tenant stores.
func UsageOf(app core.App, tenantID string) (*Usage, error) {
	tx := sqlite.Direct(app.ConcurrentDB())
	stored, err := quota.Used(tx, tenantID)
	if err != nil {
		return nil, err
	}
	imported, err := imports.Used(tx, tenantID)
	return &Usage{StoredBytes: stored, StoredLimit: quota.Limit, ImportBytes: imported, ImportLimit: imports.Quota}, err
}

// countOf returns the query that counts the rows of {:tenant} in a table up to {:cap}. The index on the tenant
// is enough for it.
func countOf(table string) string {
	return "(SELECT COUNT(*) FROM (SELECT 1 FROM {{" + table + "}} WHERE [[tenant]] = {:tenant} LIMIT {:cap}))"
}

// shown returns a stored time in the format of the API, or nil for "".
func shown(stored string) *string {
	if stored == "" {
		return nil
	}
	text := stamp.Show(stored)
	return &text
}
