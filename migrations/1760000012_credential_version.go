package migrations

// A counter of changes to anything that a key's cached identity depends on. Triggers increment it, so that a change
// counts however it is made: by this process, by another on the same data directory, or in the SQL console.
func init() {
	const bump = "UPDATE `_credentialVersion` SET `version` = `version` + 1"
	execute("1760000012_credential_version.go",
		"CREATE TABLE `_credentialVersion` (`id` INTEGER PRIMARY KEY CHECK (`id` = 1), `version` INTEGER NOT NULL)",
		"INSERT INTO `_credentialVersion` (`id`, `version`) VALUES (1, 1)",
		"CREATE TRIGGER `_credentialVersion_api_keys_update` AFTER UPDATE ON `api_keys` "+
			"WHEN OLD.`hash` IS NOT NEW.`hash` OR OLD.`tenant` IS NOT NEW.`tenant` OR OLD.`permissions` IS NOT NEW.`permissions` "+
			"OR OLD.`expires` IS NOT NEW.`expires` OR OLD.`revoked` IS NOT NEW.`revoked` BEGIN "+bump+"; END",
		"CREATE TRIGGER `_credentialVersion_api_keys_delete` AFTER DELETE ON `api_keys` BEGIN "+bump+"; END",
		"CREATE TRIGGER `_credentialVersion_tenants_update` AFTER UPDATE ON `tenants` "+
			"WHEN OLD.`apiEnabled` IS NOT NEW.`apiEnabled` OR OLD.`rateLimit` IS NOT NEW.`rateLimit` BEGIN "+bump+"; END",
		"CREATE TRIGGER `_credentialVersion_tenants_delete` AFTER DELETE ON `tenants` BEGIN "+bump+"; END",
	)
}
