package migrations

import "github.com/pocketbase/pocketbase/core"

func init() {
	create("1760000002_api_keys.go", func(app core.App) (*core.Collection, error) {
		tenant, err := relation(app, "tenant", "tenants")
		if err != nil {
			return nil, err
		}
		c := core.NewBaseCollection("api_keys")
		c.Fields.Add(
			tenant,
			&core.TextField{Name: "name", Required: true, Max: 255, Presentable: true},
			&core.SelectField{Name: "permissions", Values: []string{"contacts:read", "contacts:write"}, MaxSelect: 2},
			&core.TextField{Name: "prefix", Max: 12},
			&core.TextField{Name: "hash", Max: 64, Hidden: true},
			&core.DateField{Name: "expires"},
			&core.DateField{Name: "revoked"},
			&core.DateField{Name: "lastUsed"},
		)
		c.Fields.Add(timestamps()...)
		c.AddIndex("idx_api_keys_hash", true, "`hash`", "")
		c.AddIndex("idx_api_keys_tenant", false, "`tenant`, `created`", "")
		c.AddIndex("idx_api_keys_expires", false, "`expires`", "`expires` != ''")
		return c, nil
	})
}
