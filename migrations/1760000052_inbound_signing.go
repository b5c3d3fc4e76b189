package migrations

import (
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// More ways in which senders sign, and those whose header an admin names. They stay while the tenant moves.
func init() {
	const file, collection = "1760000052_inbound_signing.go", "inbound_webhooks"
	before := []string{
		"standard", "x-signature", "shopify", "woocommerce", "typeform",
		"tally", "calendly", "stripe", "github", "hubspot",
	}
	after := slices.Concat(before, []string{
		"calcom", "linear", "attio", "notion", "framer", "mautic", "frappe", "chatwoot", "zendesk", "gitlab",
		"zoom", "intercom", "x", "linkedin", "strava", "hmac", "token",
	})
	added := []core.Field{
		&core.TextField{Name: "verifyHeader", Max: 100}, &core.TextField{Name: "verifyFormat", Max: 20},
		&core.TextField{Name: "verifyHash", Max: 20}, &core.TextField{Name: "verifyTimestamp", Max: 100},
	}
	change := func(schemes []string, change func(*core.Collection, core.Field)) func(core.App) error {
		return func(app core.App) error {
			found, err := app.FindCollectionByNameOrId(collection)
			if err != nil {
				return fmt.Errorf("the collection %q is missing: %w", collection, err)
			}
			scheme, ok := found.Fields.GetByName("verifyScheme").(*core.SelectField)
			if !ok {
				return fmt.Errorf("the collection %q has no field verifyScheme", collection)
			}
			scheme.Values = schemes
			for _, field := range added {
				field.SetSystem(true)
				change(found, field)
			}
			if err := app.SaveNoValidate(found); err != nil { // PocketBase's validation refuses to remove a System field
				return fmt.Errorf("changing the collection %q: %w", collection, err)
			}
			return nil
		}
	}
	m.Register(
		change(after, func(c *core.Collection, field core.Field) { c.Fields.Add(field) }),
		change(before, func(c *core.Collection, field core.Field) { c.Fields.RemoveByName(field.GetName()) }),
		file,
	)
	closed := closedWrite{
		collection, "UPDATE", "`id`, `tenant`, `name`, `access`, `tokenHash`, `prefix`, `mapping`, `verifySecret`, `disabled`, `verifyScheme`, `rateLimit`", "tenant",
	}
	trigger := closed.trigger()
	closed.columns += ", `verifyHeader`, `verifyFormat`, `verifyHash`, `verifyTimestamp`"
	const drop = "DROP TRIGGER `_moves_inbound_webhooks_update`"
	revertible("1760000052_inbound_signing_moves.go", []string{drop, closed.trigger()}, []string{drop, trigger})
}
