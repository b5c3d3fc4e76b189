package migrations

// Calls of the API are counted by key, by the hour and by the minute, and the last that were refused or failed are kept. Those
// without a known key have the key "". The calls of a key go with it.
func init() {
	execute("1760000021_calls.go",
		"CREATE TABLE `_keyHours` (`hour` TEXT NOT NULL, `key` TEXT NOT NULL, "+
			"`answered` INTEGER NOT NULL, `refused` INTEGER NOT NULL, `limited` INTEGER NOT NULL, `failed` INTEGER NOT NULL, "+
			"PRIMARY KEY (`hour`, `key`)) WITHOUT ROWID",
		"CREATE TABLE `_keyMinutes` (`minute` TEXT NOT NULL, `key` TEXT NOT NULL, "+
			"`answered` INTEGER NOT NULL, `refused` INTEGER NOT NULL, `limited` INTEGER NOT NULL, `failed` INTEGER NOT NULL, "+
			"PRIMARY KEY (`minute`, `key`)) WITHOUT ROWID",
		"CREATE TABLE `_failedCalls` (`id` INTEGER PRIMARY KEY, `key` TEXT NOT NULL, `requestId` TEXT NOT NULL, "+
			"`method` TEXT NOT NULL, `path` TEXT NOT NULL, `status` INTEGER NOT NULL, `code` TEXT NOT NULL, `created` TEXT NOT NULL)",
		"CREATE INDEX `idx__failedCalls_key` ON `_failedCalls` (`key`, `id`)",
		"CREATE INDEX `idx__failedCalls_created` ON `_failedCalls` (`created`)",
		"CREATE TRIGGER `_failedCalls_key_delete` AFTER DELETE ON `api_keys` BEGIN DELETE FROM `_failedCalls` WHERE `key` = OLD.`id`; END",
	)
}
