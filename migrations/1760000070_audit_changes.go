package migrations

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// `changes` has the old and new values of fields that are no secret, as {"field":{"old","new"}}. `count` is how many
// rows the action was about, 0 if unknown, and `reason` why the program did it. Indexes serve the filters of the list.
func init() {
	const file = "1760000070_audit_changes.go"
	names := []string{"changes", "count", "reason"}
	indexes := map[string]string{
		"action": "`action`, `id`", "collection": "`collection`, `id`", "tenant_action": "`tenant`, `action`, `id`",
		"tenant_collection": "`tenant`, `collection`, `id`", "tenant_actor": "`tenant`, `actor`, `id`",
	}
	change := func(change func(c *core.Collection)) func(core.App) error {
		return func(app core.App) error {
			c, err := app.FindCollectionByNameOrId("audit_log")
			if err != nil {
				return fmt.Errorf("the collection %q is missing: %w", "audit_log", err)
			}
			change(c)
			if err := app.SaveNoValidate(c); err != nil { // PocketBase's validation refuses to remove a System field
				return fmt.Errorf("changing the collection %q: %w", c.Name, err)
			}
			return nil
		}
	}
	m.Register(change(func(c *core.Collection) {
		fields := []core.Field{
			&core.JSONField{Name: names[0]}, &core.NumberField{Name: names[1], OnlyInt: true}, &core.TextField{Name: names[2]},
		}
		for _, field := range fields {
			field.SetSystem(true)
		}
		c.Fields.Add(fields...)
		for _, name := range slices.Sorted(maps.Keys(indexes)) {
			c.AddIndex("idx_audit_log_by_"+name, false, indexes[name], "")
		}
	}), change(func(c *core.Collection) {
		for name := range indexes {
			c.RemoveIndex("idx_audit_log_by_" + name)
		}
		for _, name := range names {
			c.Fields.RemoveByName(name)
		}
	}), file)
}
