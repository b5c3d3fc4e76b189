package migrations

import (
	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// The index of a tenant's members also has what they are and when they end: links that have ended, of which a key can
// make thousands an hour, cost nothing when one more is created.
func init() {
	const file = "1760000088_link_ends.go"
	index := func(columns string) func(core.App) error {
		return func(app core.App) error {
			return changeMembers(app, func(c *core.Collection) {
				c.RemoveIndex("idx_tenant_members_tenant")
				c.AddIndex("idx_tenant_members_tenant", false, columns, "")
			})
		}
	}
	m.Register(index("`tenant`, `link`, `expires`"), index("`tenant`"), file)
}
