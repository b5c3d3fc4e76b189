package migrations

import (
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// Keys that may create portal links. `key` is the key that created a link, which ends with it: a key that is deleted or
// revoked takes its links with it, and one whose expiry changes lets none of them outlive it. The triggers hold in
// every process on the data directory.
func init() {
	const file = "1760000068_portal_keys.go"
	added := []string{"portal:link", "portal:link-admin"}
	m.Register(func(app core.App) error {
		if err := changePermissions(app, func(values []string) []string {
			for _, permission := range added {
				if !slices.Contains(values, permission) {
					values = append(values, permission)
				}
			}
			return values
		}); err != nil {
			return err
		}
		if err := changeMembers(app, func(c *core.Collection) {
			c.Fields.Add(&core.TextField{Name: "key", Max: 15, Hidden: true, System: true})
			c.AddIndex("idx_tenant_members_key", false, "`key`", "`key` != ''")
		}); err != nil {
			return err
		}
		const ofKey = "WHERE `key` = OLD.`id` AND `key` != '' AND `link` = 1"
		return executeAll(app, file, []string{
			"CREATE TRIGGER `_api_keys_links_delete` AFTER DELETE ON `api_keys` BEGIN DELETE FROM `tenant_members` " + ofKey + "; END",
			"CREATE TRIGGER `_api_keys_links_revoke` AFTER UPDATE OF `revoked` ON `api_keys` WHEN NEW.`revoked` != '' BEGIN " +
				"DELETE FROM `tenant_members` " + ofKey + "; END",
			"CREATE TRIGGER `_api_keys_links_expire` AFTER UPDATE OF `expires` ON `api_keys` " +
				"WHEN NEW.`expires` != '' AND NEW.`expires` IS NOT OLD.`expires` BEGIN " +
				"UPDATE `tenant_members` SET `expires` = NEW.`expires` " + ofKey + " AND `expires` > NEW.`expires`; END",
		})
	}, func(app core.App) error {
		for _, trigger := range []string{"delete", "revoke", "expire"} {
			if err := executeAll(app, file, []string{"DROP TRIGGER `_api_keys_links_" + trigger + "`"}); err != nil {
				return err
			}
		}
		if err := changeMembers(app, func(c *core.Collection) {
			c.RemoveIndex("idx_tenant_members_key")
			c.Fields.RemoveByName("key")
		}); err != nil {
			return err
		}
		return changePermissions(app, func(values []string) []string {
			return slices.DeleteFunc(values, func(permission string) bool { return slices.Contains(added, permission) })
		})
	}, file)
}

// changePermissions changes which permissions a key can have, and lets it have all of them.
func changePermissions(app core.App, change func([]string) []string) error {
	c, err := app.FindCollectionByNameOrId("api_keys")
	if err != nil {
		return fmt.Errorf(`the collection "api_keys" is missing: %w`, err)
	}
	field, ok := c.Fields.GetByName("permissions").(*core.SelectField)
	if !ok {
		return fmt.Errorf(`the field "permissions" of the collection "api_keys" is missing`)
	}
	field.Values = change(slices.Clone(field.Values))
	field.MaxSelect = len(field.Values)
	if err := app.SaveNoValidate(c); err != nil {
		return fmt.Errorf("changing the permissions of keys: %w", err)
	}
	return nil
}
