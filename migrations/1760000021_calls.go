package migrations

// API requests are counted by hour and key, and the last rejected or failed ones are stored. Those without a known key have the key
// "". They are deleted with their key.
func init() {
	execute("1760000021_calls.go",
		"CREATE TABLE `_keyHours` (`hour` TEXT NOT NULL, `key` TEXT NOT NULL, "+
			"`answered` INTEGER NOT NULL, `refused` INTEGER NOT NULL, `limited` INTEGER NOT NULL, `failed` INTEGER NOT NULL, "+
			"PRIMARY KEY (`hour`, `key`)) WITHOUT ROWID",
		"CREATE TABLE `_failedCalls` (`id` INTEGER PRIMARY KEY, `key` TEXT NOT NULL, `requestId` TEXT NOT NULL, "+
			"`method` TEXT NOT NULL, `path` TEXT NOT NULL, `status` INTEGER NOT NULL, `code` TEXT NOT NULL, `created` TEXT NOT NULL)",
		"CREATE INDEX `idx__failedCalls_key` ON `_failedCalls` (`key`, `id`)",
		"CREATE INDEX `idx__failedCalls_created` ON `_failedCalls` (`created`)",
		"CREATE TRIGGER `_failedCalls_key_delete` AFTER DELETE ON `api_keys` BEGIN DELETE FROM `_failedCalls` WHERE `key` = OLD.`id`; END",
	)
}
