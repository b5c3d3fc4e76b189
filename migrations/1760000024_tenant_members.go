package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
	"github.com/pocketbase/pocketbase/tools/dbutils"
	"github.com/pocketbase/pocketbase/tools/types"
)

// The rules of members. They name the collection, because a record of any other auth collection could have a field
// "tenant"; and they read the tenant's creation time, because `tenant.id` does not check that the tenant exists.
const (
	ownRule = "@request.auth.collectionName = 'tenant_members' && " +
		"@request.auth.tenant.created != '' && tenant = @request.auth.tenant"
	adminRule = ownRule + " && @request.auth.tenant.apiEnabled = true && @request.auth.role = 'admin'"

	noLink = " && @request.auth.link = false"

	// An admin changes others, and everybody changes themselves, but not their own role.
	memberUpdateRule = ownRule + noLink +
		" && @request.body.tenant:changed = false && @request.body.link:changed = false" +
		" && (id != @request.auth.id && @request.auth.role = 'admin' " +
		"|| id = @request.auth.id && @request.body.role:changed = false)"
)

// memberSession is how long a member stays signed in, in seconds.
const memberSession = 12 * 60 * 60

const notAsked = "<p><i>If you did not ask for this, ignore this email.</i></p>"

// memberMail returns the template of a mail that leads to a page of the portal.
func memberMail(subject, text, page, action string) core.EmailTemplate {
	return core.EmailTemplate{
		Subject: subject,
		Body: "<p>Hello,</p>\n<p>" + text + "</p>\n" +
			`<p><a class="btn" href="{APP_URL}/portal/#/` + page + `/{TOKEN}" target="_blank" rel="noopener">` + action + "</a></p>\n" +
			notAsked,
	}
}

func init() {
	create("1760000024_tenant_members.go", newMembers)
	m.Register(setMemberRules, nil, "1760000025_member_rules.go")
}

func newMembers(app core.App) (*core.Collection, error) {
	tenant, err := relation(app, "tenant", "tenants")
	if err != nil {
		return nil, err
	}
	c := core.NewAuthCollection("tenant_members")
	c.Fields.Add(
		tenant,
		&core.SelectField{Name: "role", Required: true, Values: []string{"admin", "viewer"}, MaxSelect: 1},
		&core.TextField{Name: "name", Max: 255, Presentable: true},
		&core.SelectField{Name: "notify", Values: []string{"immediately", "daily", "never"}, MaxSelect: 1},
		&core.BoolField{Name: "link"},                  // a portal link's record, without a person
		&core.DateField{Name: "expires", Hidden: true}, // of a portal link
	)
	c.Fields.Add(timestamps()...)
	if byAddress, found := dbutils.FindSingleColumnUniqueIndex(c.Indexes, "email"); found {
		c.RemoveIndex(byAddress.IndexName) // it would tell Ada@example.com from ada@example.com
	}
	c.AddIndex("idx_tenant_members_email", true, "`email` COLLATE NOCASE", "`email` != ''")
	c.AddIndex("idx_tenant_members_tenant", false, "`tenant`", "")
	c.AuthToken.Duration = memberSession
	c.AuthAlert.Enabled = false // a mail server that hangs must not delay a sign-in
	c.OTP.EmailTemplate = core.EmailTemplate{
		Subject: "Your {APP_NAME} code",
		Body:    "<p>Hello,</p>\n<p>Your code to sign in is <strong>{OTP}</strong></p>\n" + notAsked,
	}
	c.ResetPasswordTemplate = memberMail("Set your {APP_NAME} password",
		"Set a new password with this button.", "reset", "Set password")
	c.VerificationTemplate = memberMail("Verify your {APP_NAME} email",
		"Verify your email address with this button.", "verify", "Verify")
	c.ConfirmEmailChangeTemplate = memberMail("Confirm your new {APP_NAME} email address",
		"Confirm your new email address with this button.", "email", "Confirm")
	return c, nil
}

// setMemberRules sets the rules of members in their own collection and in those that they see, and
// creates their triggers.
func setMemberRules(app core.App) error {
	rules := map[string]func(*core.Collection){
		"tenants": func(c *core.Collection) {
			c.ListRule = types.Pointer("@request.auth.collectionName = 'tenant_members' && id = @request.auth.tenant")
			c.ViewRule = c.ListRule
		},
		"tenant_members": func(c *core.Collection) {
			c.ListRule = types.Pointer("id = @request.auth.id || (" + adminRule + noLink + ")")
			c.ViewRule = c.ListRule
			c.CreateRule = types.Pointer(adminRule + noLink + " && link = false")
			c.UpdateRule = types.Pointer(memberUpdateRule)
			c.DeleteRule = types.Pointer(adminRule + noLink + " && id != @request.auth.id")
			c.AuthRule = types.Pointer("tenant.created != ''")
		},
	}
	for _, name := range []string{"api_keys", "webhooks", "inbound_webhooks"} {
		rules[name] = func(c *core.Collection) {
			c.ListRule, c.ViewRule = types.Pointer(ownRule), types.Pointer(ownRule)
			c.CreateRule, c.UpdateRule, c.DeleteRule = types.Pointer(adminRule),
				types.Pointer(adminRule), types.Pointer(adminRule)
		}
	}
	for name, set := range rules {
		c, err := app.FindCollectionByNameOrId(name)
		if err != nil {
			return fmt.Errorf("the collection %q is missing: %w", name, err)
		}
		set(c)
		// PocketBase's validation refuses to change the rules of System collections
		if err := app.SaveNoValidate(c); err != nil {
			return fmt.Errorf("setting the rules of the collection %q: %w", name, err)
		}
	}
	for _, statement := range memberTriggers() {
		if _, err := app.DB().NewQuery(statement).Execute(); err != nil {
			return fmt.Errorf("creating the triggers of members: %w", err)
		}
	}
	return nil
}

// memberTriggers returns the triggers of members. Members go in the transaction that deletes their tenant, with what
// PocketBase keeps about their sign-ins, so that nobody signs in to a tenant that is being removed. What ends a
// member's sessions, such as a new password, also ends the accounts of other services that somebody has linked. A
// moving tenant takes no changes of its members; portal links do not move, so that they may be deleted at any time.
func memberTriggers() []string {
	triggers := []string{
		"CREATE TRIGGER `_tenant_members_tenants_delete` AFTER DELETE ON `tenants` BEGIN DELETE FROM `tenant_members` WHERE `tenant` = OLD.`id`; END",
		closedWrite{"tenant_members", "INSERT", "", "tenant"}.trigger(),
		closedWrite{"tenant_members", "UPDATE", "", "tenant"}.trigger(),
		"CREATE TRIGGER `_moves_tenant_members_delete` BEFORE DELETE ON `tenant_members` WHEN OLD.`link` = 0 AND EXISTS " +
			"(SELECT 1 FROM `_moves` m JOIN `tenants` t ON t.`id` = m.`tenant` WHERE m.`tenant` = OLD.`tenant` AND m.`open` = 0) BEGIN " +
			"SELECT RAISE(ABORT, 'tenant_moving'); END",
	}
	const ofMember = "`recordRef` = OLD.`id` AND `collectionRef` = (SELECT `id` FROM `_collections` WHERE `name` = 'tenant_members'); END"
	for _, table := range []string{"_externalAuths", "_mfas", "_otps", "_authOrigins"} {
		triggers = append(triggers, fmt.Sprintf("CREATE TRIGGER `_tenant_members_delete%[1]s` AFTER DELETE ON `tenant_members` BEGIN DELETE FROM `%[1]s` WHERE %[2]s", table, ofMember))
	}
	return append(triggers, "CREATE TRIGGER `_tenant_members_unlink` AFTER UPDATE OF `tokenKey` ON `tenant_members` WHEN OLD.`tokenKey` != NEW.`tokenKey` BEGIN "+
		"DELETE FROM `_externalAuths` WHERE "+ofMember)
}
