package migrations

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

func init() {
	create("1760000007_deliveries.go", func(app core.App) (*core.Collection, error) {
		event, err := relation(app, "event", "events")
		if err != nil {
			return nil, err
		}
		webhook, err := relation(app, "webhook", "webhooks")
		if err != nil {
			return nil, err
		}
		tenant, err := relation(app, "tenant", "tenants")
		if err != nil {
			return nil, err
		}
		c := core.NewBaseCollection("deliveries")
		c.Fields.Add(
			event,
			webhook,
			tenant,
			&core.SelectField{Name: "status", Required: true, Values: []string{"pending", "delivered", "failed"}, MaxSelect: 1},
			&core.NumberField{Name: "attempts", OnlyInt: true, Min: types.Pointer(0.0)},
			&core.DateField{Name: "nextAttempt"},
			&core.NumberField{Name: "lastStatus", OnlyInt: true},
			&core.TextField{Name: "lastError", Max: 1000},
		)
		c.Fields.Add(timestamps()...)
		// The pending deliveries of a contact to a webhook are a queue. A delivery is blocked until the one before it
		// has been attempted; then nextAttempt is its due time.
		c.Fields.Add(
			&core.TextField{Name: "contact", Max: 50},
			&core.BoolField{Name: "blocked"},
		)
		c.AddIndex("idx_deliveries_event", true, "`event`, `webhook`", "")
		c.AddIndex("idx_deliveries_webhook", false, "`webhook`, `created`", "")
		c.AddIndex("idx_deliveries_line", false, "`webhook`, `contact`", "`status` = 'pending' AND `contact` != ''")
		c.AddIndex("idx_deliveries_due", false, "`webhook`, `blocked`, `nextAttempt`", "`status` = 'pending'")
		// deliveries that succeed at once never enter these indexes, and cost nothing more
		c.AddIndex("idx_deliveries_retried", false, "`webhook`", "`status` = 'pending' AND `attempts` > 0")
		c.AddIndex("idx_deliveries_failed", false, "`webhook`, `created`", "`status` = 'failed'")
		return c, nil
	})
}
