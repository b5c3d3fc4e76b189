package migrations

import "github.com/pocketbase/pocketbase/core"

func init() {
	create("1760000006_events.go", func(app core.App) (*core.Collection, error) {
		tenant, err := relation(app, "tenant", "tenants")
		if err != nil {
			return nil, err
		}
		c := core.NewBaseCollection("events")
		c.Fields.Add(
			tenant,
			&core.TextField{Name: "type", Required: true, Max: 50, Presentable: true},
			// not a relation: the event of a deleted contact stays
			&core.TextField{Name: "contact", Max: 50},
			&core.JSONField{Name: "payload", MaxSize: 8 << 20},
			&core.AutodateField{Name: "created", OnCreate: true},
		)
		c.AddIndex("idx_events_contact", false, "`contact`", "")
		c.AddIndex("idx_events_created", false, "`created`", "")
		c.AddIndex("idx_events_feed", false, "`tenant`", "")
		return c, nil
	})
}
