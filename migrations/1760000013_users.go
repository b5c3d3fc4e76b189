package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// PocketBase creates a collection of users in which anybody may register. Nothing here uses it: it is closed to all
// but superusers, and kept for installations that want it.
func init() {
	m.Register(func(app core.App) error {
		users, err := app.FindCollectionByNameOrId("_pb_users_auth_")
		if err != nil {
			return nil // nolint:nilerr // the collection was deleted
		}
		users.ListRule, users.ViewRule, users.CreateRule, users.UpdateRule, users.DeleteRule = nil, nil, nil, nil, nil
		users.AuthRule, users.ManageRule = nil, nil
		if err := app.Save(users); err != nil {
			return fmt.Errorf("closing the collection %q: %w", users.Name, err)
		}
		return nil
	}, nil, "1760000013_users.go")
}
