package migrations

// The index of a tenant's notices also has their time, so that reading the newest ones takes no longer with many.
func init() {
	revertible("1760000095_latest_notices.go", []string{
		"DROP INDEX `idx__notices_tenant`",
		"CREATE INDEX `idx__notices_tenant` ON `_notices` (`tenant`, `created`)",
	}, []string{
		"DROP INDEX `idx__notices_tenant`",
		"CREATE INDEX `idx__notices_tenant` ON `_notices` (`tenant`)",
	})
}
