package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// The pending deliveries of a contact to a webhook are a line. A delivery is `blocked` while the one in front of it was
// never attempted; then `nextAttempt` says when it is due.
func init() {
	const file = "1761000005_delivery_lines.go"
	statements := []string{
		"UPDATE `deliveries` SET `contact` = COALESCE((SELECT e.`contact` FROM `events` e WHERE e.`id` = `deliveries`.`event`), '')",
		"UPDATE `deliveries` SET `blocked` = 1 WHERE `status` = 'pending' AND `attempts` = 0 AND `contact` != '' AND COALESCE((" +
			"SELECT p.`attempts` FROM `deliveries` p WHERE p.`webhook` = `deliveries`.`webhook` AND p.`contact` = `deliveries`.`contact` " +
			"AND p.`contact` != '' AND p.`status` = 'pending' AND p.rowid < `deliveries`.rowid ORDER BY p.rowid DESC LIMIT 1), 1) = 0",
	}
	m.Register(func(app core.App) error {
		deliveries, err := app.FindCollectionByNameOrId("deliveries")
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		deliveries.Fields.Add(
			&core.TextField{Name: "contact", Max: 50, System: true},
			&core.BoolField{Name: "blocked", System: true},
		)
		deliveries.AddIndex("idx_deliveries_line", false, "`webhook`, `contact`", "`status` = 'pending' AND `contact` != ''")
		deliveries.AddIndex("idx_deliveries_due", false, "`webhook`, `blocked`, `nextAttempt`", "`status` = 'pending'")
		if err := app.Save(deliveries); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, statement := range statements {
			if _, err := app.DB().NewQuery(statement).Execute(); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		return nil
	}, nil, file)
}
