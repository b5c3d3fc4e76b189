package migrations

// An index finds tenants by their names, which need not be unique.
func init() {
	addIndex("1760000081_tenant_names.go", "tenants", "idx_tenants_name", "`name`", "")
}
