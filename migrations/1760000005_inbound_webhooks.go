package migrations

import "github.com/pocketbase/pocketbase/core"

func init() {
	create("1760000005_inbound_webhooks.go", func(app core.App) (*core.Collection, error) {
		tenant, err := relation(app, "tenant", "tenants")
		if err != nil {
			return nil, err
		}
		c := core.NewBaseCollection("inbound_webhooks")
		c.Fields.Add(
			tenant,
			&core.TextField{Name: "name", Required: true, Max: 255, Presentable: true},
			&core.SelectField{Name: "access", Required: true, Values: []string{"upsert", "full"}, MaxSelect: 1},
			&core.TextField{Name: "tokenHash", Max: 64, Hidden: true},
			&core.TextField{Name: "prefix", Max: 12},
			&core.JSONField{Name: "mapping", MaxSize: 64 << 10},
			&core.TextField{Name: "verifySecret", Max: 2000, Hidden: true},
			&core.BoolField{Name: "disabled"},
			&core.DateField{Name: "lastUsed"},
		)
		c.Fields.Add(timestamps()...)
		c.AddIndex("idx_inbound_webhooks_tokenHash", true, "`tokenHash`", "")
		c.AddIndex("idx_inbound_webhooks_tenant", false, "`tenant`", "")
		return c, nil
	})
}
