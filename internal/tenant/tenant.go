// Package tenant owns the tenants: the CRM's customers, whose contacts are kept apart.
package tenant

import (
	"fmt"
	"strings"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
)

// CollectionName is the collection of tenants.
const CollectionName = "tenants"

// DefaultRateLimit is how many requests per minute each key of a tenant without a rateLimit may make.
const DefaultRateLimit = 600

// Tenant is the proxy of a tenant's record.
type Tenant struct {
	core.BaseRecordProxy
}

// Name returns the tenant's name.
func (t *Tenant) Name() string { return t.GetString("name") }

// RateLimit returns the requests per minute of each of the tenant's keys; 0 is the default.
func (t *Tenant) RateLimit() int { return t.GetInt("rateLimit") }

// ErrNotEnabled means that the tenant does not have API access.
var ErrNotEnabled = fault.New(fault.FeatureNotEnabled,
	"The API is not enabled for this tenant; ask the administrator to enable it.")

// CountryOf returns the two letters of a tenant's country, "" if it has none or there is no such tenant.
func CountryOf(app core.App, id string) (string, error) {
	countries, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()),
		"SELECT `country` FROM `tenants` WHERE `id` = ?", id)
	if err != nil || len(countries) == 0 {
		return "", err
	}
	return countries[0], nil
}

// Enabled returns ErrNotEnabled if the tenant has no API access.
func Enabled(app core.App, id string) error {
	const disabledSQL = "SELECT EXISTS (SELECT 1 FROM `tenants` WHERE `id` = ? AND `apiEnabled` = 0)"
	disabled, err := sqlite.Value[bool](sqlite.Direct(app.ConcurrentDB()), disabledSQL, id)
	if err == nil && disabled {
		err = ErrNotEnabled
	}
	return err
}

// Find returns the tenant with this id or, failing that, the only one with this name, or with this name in another
// case.
func Find(app core.App, idOrName string) (*Tenant, error) {
	record, err := app.FindRecordById(CollectionName, idOrName)
	if err != nil {
		records, err := app.FindAllRecords(CollectionName, dbx.HashExp{"name": idOrName})
		if err == nil && len(records) == 0 {
			records, err = findFolded(app, idOrName)
		}
		if err != nil {
			return nil, fmt.Errorf("looking for the tenant %q: %w", idOrName, err)
		}
		switch len(records) {
		case 0:
			return nil, fmt.Errorf("no tenant has the ID or name %q; see contactbase tenant list", idOrName)
		case 1:
			record = records[0]
		default:
			ids := make([]string, 0, len(records))
			for _, record := range records {
				ids = append(ids, record.Id)
			}
			return nil, fmt.Errorf("%d tenants are named %q; use one of the IDs %s",
				len(records), idOrName, strings.Join(ids, ", "))
		}
	}
	t := &Tenant{}
	t.SetProxyRecord(record)
	return t, nil
}

// findFolded returns the tenants whose name is the same in another case.
func findFolded(app core.App, name string) ([]*core.Record, error) {
	var tenants []struct{ ID, Name string }
	if err := app.ConcurrentDB().Select("id", "name").From(CollectionName).All(&tenants); err != nil {
		return nil, err
	}
	var ids []string
	for _, t := range tenants {
		if strings.EqualFold(t.Name, name) {
			ids = append(ids, t.ID)
		}
	}
	return app.FindRecordsByIds(CollectionName, ids)
}

// Keep refuses to move a record to another tenant: its events, keys and deliveries would stay behind.
func Keep(record *core.Record) error {
	before := record.Original().GetString("tenant")
	if !record.IsNew() && record.GetString("tenant") != before {
		return validation.Errors{"tenant": validation.NewError("validation_tenant_change",
			"The tenant cannot be changed. Create a new record instead.")}
	}
	return nil
}
