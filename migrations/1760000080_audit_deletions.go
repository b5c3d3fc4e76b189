package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// An index finds the entry of a record's deletion, which has its last name.
func init() {
	const index = "idx_audit_log_deleted"
	change := func(change func(c *core.Collection)) func(core.App) error {
		return func(app core.App) error {
			c, err := app.FindCollectionByNameOrId("audit_log")
			if err != nil {
				return fmt.Errorf(`the collection "audit_log" is missing: %w`, err)
			}
			change(c)
			if err := app.SaveNoValidate(c); err != nil {
				return fmt.Errorf("changing the collection %q: %w", c.Name, err)
			}
			return nil
		}
	}
	m.Register(
		change(func(c *core.Collection) { c.AddIndex(index, false, "`record`", "`action` = 'deleted'") }),
		change(func(c *core.Collection) { c.RemoveIndex(index) }),
		"1760000080_audit_deletions.go",
	)
}
