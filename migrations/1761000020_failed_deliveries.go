package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// The few deliveries of a webhook that were given up are found among the many that were not. A delivery that goes well is never
// in this index, and costs nothing more.
func init() {
	const file = "1761000020_failed_deliveries.go"
	const index = "idx_deliveries_failed"
	run := func(change func(*core.Collection)) func(core.App) error {
		return func(app core.App) error {
			deliveries, err := app.FindCollectionByNameOrId("deliveries")
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			change(deliveries)
			if err := app.Save(deliveries); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			return nil
		}
	}
	m.Register(
		run(func(c *core.Collection) { c.AddIndex(index, false, "`webhook`, `created`", "`status` = 'failed'") }),
		run(func(c *core.Collection) { c.RemoveIndex(index) }),
		file,
	)
}
