package migrations

// From which addresses members and superusers have signed in lately: `address` is a keyed hash. Guesses from
// elsewhere do not keep an account from signing in from there.
func init() {
	revertible("1760000042_known_addresses.go", []string{
		"CREATE TABLE `_knownAddresses` (`account` TEXT NOT NULL, `address` TEXT NOT NULL, `seen` TEXT NOT NULL, PRIMARY KEY (`account`, `address`)) WITHOUT ROWID",
		"CREATE INDEX `idx__knownAddresses_seen` ON `_knownAddresses` (`seen`)",
		"CREATE TRIGGER `_knownAddresses_member_delete` AFTER DELETE ON `tenant_members` BEGIN DELETE FROM `_knownAddresses` WHERE `account` = OLD.`id`; END",
		"CREATE TRIGGER `_knownAddresses_superuser_delete` AFTER DELETE ON `_superusers` BEGIN DELETE FROM `_knownAddresses` WHERE `account` = OLD.`id`; END",
	}, []string{
		"DROP TRIGGER `_knownAddresses_superuser_delete`",
		"DROP TRIGGER `_knownAddresses_member_delete`",
		"DROP TABLE `_knownAddresses`",
	})
}
