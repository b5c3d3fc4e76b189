package migrations

import "github.com/pocketbase/pocketbase/core"

func init() {
	create("1760000008_delivery_attempts.go", func(app core.App) (*core.Collection, error) {
		delivery, err := relation(app, "delivery", "deliveries")
		if err != nil {
			return nil, err
		}
		c := core.NewBaseCollection("delivery_attempts")
		c.Fields.Add(
			delivery,
			&core.NumberField{Name: "number", OnlyInt: true},
			&core.DateField{Name: "started"},
			&core.NumberField{Name: "durationMs", OnlyInt: true},
			&core.NumberField{Name: "status", OnlyInt: true},
			&core.TextField{Name: "error", Max: 1000},
			&core.JSONField{Name: "requestHeaders", MaxSize: 64 << 10},
			&core.JSONField{Name: "responseHeaders", MaxSize: 64 << 10},
			&core.TextField{Name: "responseBody", Max: 16 << 10},
		)
		c.AddIndex("idx_delivery_attempts_delivery", false, "`delivery`, `number`", "")
		return c, nil
	})
}
