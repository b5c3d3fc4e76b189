package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// Invitations of members to choose a password. `accepted` says whether a member has ever chosen one, and
// `invitedUntil` when the invitation ends, whose token is only stored as a hash.
//
// A new address, role or password ends an invitation, in every process on the data directory. Members who have set a
// password themselves have an entry in the audit log that says so. A moving tenant keeps its members as they are: the
// trigger that refuses changes is away while the migration marks them.
func init() {
	closed := closedWrite{"tenant_members", "UPDATE", "", "tenant"}
	const file = "1760000067_invitations.go"
	m.Register(func(app core.App) error {
		if err := changeMembers(app, func(c *core.Collection) {
			c.Fields.Add(
				&core.BoolField{Name: "accepted", System: true},
				&core.DateField{Name: "invitedUntil", System: true},
				&core.TextField{Name: "invitationHash", Max: 64, Hidden: true, System: true},
				&core.BoolField{Name: "invitationMailed", Hidden: true, System: true},
			)
			c.AddIndex("idx_tenant_members_invitation", true, "`invitationHash`", "`invitationHash` != ''")
		}); err != nil {
			return err
		}
		return executeAll(app, file, []string{
			"DROP TRIGGER `_moves_tenant_members_update`",
			"UPDATE `tenant_members` SET `accepted` = 1 WHERE `link` = 0 AND `id` IN (SELECT l.`record` FROM `audit_log` l " +
				"WHERE l.`collection` = 'tenant_members' AND l.`action` = 'updated' AND l.`actor` = l.`record` " +
				"AND EXISTS (SELECT 1 FROM json_each(l.`fields`) f WHERE f.`value` = 'password'))",
			closed.trigger(),
			"CREATE TRIGGER `_tenant_members_uninvite` AFTER UPDATE OF `email`, `role`, `tokenKey` ON `tenant_members` " +
				"WHEN OLD.`invitationHash` != '' AND OLD.`invitationHash` = NEW.`invitationHash` AND (OLD.`email` != NEW.`email` " +
				"OR OLD.`role` != NEW.`role` OR OLD.`tokenKey` != NEW.`tokenKey`) BEGIN " +
				"UPDATE `tenant_members` SET `invitationHash` = '', `invitedUntil` = '' WHERE `id` = NEW.`id`; END",
		})
	}, func(app core.App) error {
		if err := executeAll(app, file, []string{"DROP TRIGGER `_tenant_members_uninvite`"}); err != nil {
			return err
		}
		return changeMembers(app, func(c *core.Collection) {
			c.RemoveIndex("idx_tenant_members_invitation")
			for _, name := range []string{"accepted", "invitedUntil", "invitationHash", "invitationMailed"} {
				c.Fields.RemoveByName(name)
			}
		})
	}, file)
}

// changeMembers changes the collection of members. PocketBase's validation refuses to change a System collection.
func changeMembers(app core.App, change func(*core.Collection)) error {
	c, err := app.FindCollectionByNameOrId("tenant_members")
	if err != nil {
		return fmt.Errorf(`the collection "tenant_members" is missing: %w`, err)
	}
	change(c)
	if err := app.SaveNoValidate(c); err != nil {
		return fmt.Errorf("changing the collection of members: %w", err)
	}
	return nil
}
