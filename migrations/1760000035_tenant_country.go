package migrations

import "github.com/pocketbase/pocketbase/core"

// The country of a tenant is whose national phone numbers imports and inbound webhooks read.
func init() {
	add("1760000035_tenant_country.go", "tenants", &core.TextField{Name: "country", Max: 2, Pattern: `^[A-Za-z]{2}$`})
}
