package migrations

import "github.com/pocketbase/pocketbase/core"

// How a sender signs its requests.
func init() {
	add("1760000036_verify_scheme.go", "inbound_webhooks", &core.SelectField{
		Name: "verifyScheme", MaxSelect: 1,
		Values: []string{
			"standard", "x-signature", "shopify", "woocommerce", "typeform",
			"tally", "calendly", "stripe", "github", "hubspot",
		},
	})
}
