package migrations

import (
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// `name` is what contacts are sorted by: see the package search. Its index replaces the one of the names themselves.
// Search rows up to `last` have none, and a text that an earlier version has folded. The program folds both again in
// the background, and notes in `upTo` how far it is.
func init() {
	const file = "1760000055_contact_names.go"
	m.Register(func(app core.App) error {
		contacts, err := app.FindCollectionByNameOrId("contacts")
		if err != nil {
			return fmt.Errorf("the collection %q is missing: %w", "contacts", err)
		}
		contacts.RemoveIndex("idx_contacts_name")
		err = executeAll(app, file, []string{
			"ALTER TABLE `_contactSearch` ADD COLUMN `name` TEXT NOT NULL DEFAULT ''",
			"CREATE INDEX `idx__contactSearch_name` ON `_contactSearch` (`tenant`, `name`, `contact`)",
			"CREATE TABLE `_contactFolded` (`upTo` INTEGER NOT NULL, `last` INTEGER NOT NULL)",
			"INSERT INTO `_contactFolded` SELECT 0, coalesce(max(`seq`), 0) FROM `_contactSearch`",
			"DROP INDEX IF EXISTS `idx_contacts_name`",
		})
		if err != nil {
			return err
		}
		// If PocketBase saved the changed list, it would build all indexes again.
		list := app.DB().Update("_collections", dbx.Params{"indexes": contacts.Indexes}, dbx.HashExp{"id": contacts.Id})
		if _, err := list.Execute(); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return app.ReloadCachedCollections()
	}, nil, file)
}
