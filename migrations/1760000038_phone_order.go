package migrations

import (
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// The index of phone numbers has the order of creation, so that the oldest contact with a number is the first of its
// entries. Without that order, SQLite looks for the number in all of the tenant's contacts, from the oldest on.
func init() {
	const file = "1760000038_phone_order.go"
	index := func(columns string) func(core.App) error {
		return func(app core.App) error {
			contacts, err := app.FindCollectionByNameOrId("contacts")
			if err != nil {
				return fmt.Errorf("the collection %q is missing: %w", "contacts", err)
			}
			const name = "idx_contacts_phone"
			contacts.AddIndex(name, false, columns, "`phone` != ''")
			if err := executeAll(app, file, []string{
				"DROP INDEX IF EXISTS `" + name + "`", contacts.GetIndex(name),
			}); err != nil {
				return err
			}
			// If PocketBase saved the changed list, it would build all indexes again.
			list := app.DB().Update("_collections", dbx.Params{"indexes": contacts.Indexes}, dbx.HashExp{"id": contacts.Id})
			if _, err := list.Execute(); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			return app.ReloadCachedCollections()
		}
	}
	m.Register(index("`tenant`, `phone`, `created`, `id`"), index("`tenant`, `phone`"), file)
}
