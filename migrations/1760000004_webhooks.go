package migrations

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

func init() {
	create("1760000004_webhooks.go", func(app core.App) (*core.Collection, error) {
		tenant, err := relation(app, "tenant", "tenants")
		if err != nil {
			return nil, err
		}
		c := core.NewBaseCollection("webhooks")
		c.Fields.Add(
			tenant,
			&core.TextField{Name: "name", Max: 255, Presentable: true},
			&core.TextField{Name: "url", Required: true, Max: 2048, Presentable: true},
			&core.TextField{Name: "secret", Max: 2000, Hidden: true},
			&core.TextField{Name: "previousSecret", Max: 2000, Hidden: true},
			&core.DateField{Name: "previousSecretUntil"},
			&core.SelectField{
				Name: "events",
				Values: []string{
					"contact.created", "contact.updated", "contact.deleted", "webhook.ping",
					"webhook.failing", "webhook.recovered", "webhook.disabled", "key.expiring",
				},
				MaxSelect: 8,
			},
			&core.TextField{Name: "filter", Max: 1_000},
			&core.JSONField{Name: "headers", MaxSize: 16 << 10, Hidden: true}, // always null: what a client sends is sealed
			&core.TextField{Name: "sealedHeaders", Max: 32 << 10, Hidden: true},
			// 0 for any number
			&core.NumberField{Name: "maxPerSecond", OnlyInt: true, Min: types.Pointer(0.0), Max: types.Pointer(1000.0)},
			&core.BoolField{Name: "disabled"},
			&core.TextField{Name: "disabledReason", Max: 500},
			&core.BoolField{Name: "memberOwned", Hidden: true}, // a member of the tenant has set the URL
		)
		c.Fields.Add(timestamps()...)
		c.AddIndex("idx_webhooks_tenant", false, "`tenant`", "")
		return c, nil
	})
}
