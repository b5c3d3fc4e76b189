package migrations

import "github.com/pocketbase/pocketbase/core"

func init() {
	create("1760000009_inbound_requests.go", func(app core.App) (*core.Collection, error) {
		inbound, err := relation(app, "inbound", "inbound_webhooks")
		if err != nil {
			return nil, err
		}
		tenant, err := relation(app, "tenant", "tenants")
		if err != nil {
			return nil, err
		}
		c := core.NewBaseCollection("inbound_requests")
		c.Fields.Add(
			inbound,
			tenant,
			&core.TextField{Name: "contentType", Max: 255},
			&core.TextField{Name: "body", Max: 1 << 20},
			&core.NumberField{Name: "status", OnlyInt: true},
			&core.JSONField{Name: "result", MaxSize: 2 << 20},
			&core.AutodateField{Name: "created", OnCreate: true},
			&core.BoolField{Name: "erased"},
		)
		c.AddIndex("idx_inbound_requests_inbound", false, "`inbound`, `created`", "")
		c.AddIndex("idx_inbound_requests_created", false, "`created`", "")
		c.AddIndex("idx_inbound_requests_tenant", false, "`tenant`, `created`", "")
		return c, nil
	})
}
