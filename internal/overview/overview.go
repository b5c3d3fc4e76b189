// Package overview reads what the dashboard shows about many records: counts, the health of webhooks, and lists of
// deliveries. Every query reads a limited number of rows, so that it takes no longer in a busy installation.
package overview

import (
	"fmt"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/imports"
	"contactbase/internal/quota"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

const countCap = 10_000 // where counting ends

// Counts has the number of a tenant's records, each at most 10,000.
type Counts struct {
	Tenant   string `json:"tenant" db:"tenant"`
	Contacts int    `json:"contacts" db:"contacts"`
	Keys     int    `json:"keys" db:"keys"`
	Webhooks int    `json:"webhooks" db:"webhooks"`
	Inbound  int    `json:"inbound" db:"inbound"`
	Members  int    `json:"members" db:"members"` // without portal links

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
				countOf("tenant_members", "[[link]] = 0") + " AS [[members]], " +
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

// countOf returns the query that counts the rows of {:tenant} in a table, those that fulfil the conditions, up to
// {:cap}. Without conditions, the index on the tenant is enough for it.
func countOf(table string, conditions ...string) string {
	where := strings.Join(append([]string{"[[tenant]] = {:tenant}"}, conditions...), " AND ")
	return "(SELECT COUNT(*) FROM (SELECT 1 FROM {{" + table + "}} WHERE " + where + " LIMIT {:cap}))"
}

// shown returns a stored time in the format of the API, or nil for "".
func shown(stored string) *string {
	if stored == "" {
		return nil
	}
	text := stamp.Show(stored)
	return &text
}
