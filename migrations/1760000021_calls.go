package migrations

// API requests are counted by key, by hour and by minute. The last rejected or failed ones are stored, and the
// slowest. Those without a known key have the key "". They are deleted with their key.
func init() {
	execute("1760000021_calls.go",
		"CREATE TABLE `_keyHours` (`hour` TEXT NOT NULL, `key` TEXT NOT NULL, "+
			"`answered` INTEGER NOT NULL, `refused` INTEGER NOT NULL, `limited` INTEGER NOT NULL, `failed` INTEGER NOT NULL, "+
			"PRIMARY KEY (`hour`, `key`)) WITHOUT ROWID",
		"CREATE TABLE `_keyMinutes` (`minute` TEXT NOT NULL, `key` TEXT NOT NULL, "+
			"`answered` INTEGER NOT NULL, `refused` INTEGER NOT NULL, `limited` INTEGER NOT NULL, `failed` INTEGER NOT NULL, "+
			"PRIMARY KEY (`minute`, `key`)) WITHOUT ROWID",
		"CREATE TABLE `_keptCalls` (`id` INTEGER PRIMARY KEY, `key` TEXT NOT NULL, `slow` INTEGER NOT NULL, `requestId` TEXT NOT NULL, `method` TEXT NOT NULL, "+
			"`path` TEXT NOT NULL, `status` INTEGER NOT NULL, `code` TEXT NOT NULL, `durationMs` INTEGER NOT NULL, `created` TEXT NOT NULL)",
		"CREATE INDEX `idx__keptCalls_key` ON `_keptCalls` (`key`, `slow`, `created`)",
		"CREATE INDEX `idx__keptCalls_created` ON `_keptCalls` (`slow`, `created`)",
		"CREATE TRIGGER `_keptCalls_key_delete` AFTER DELETE ON `api_keys` BEGIN DELETE FROM `_keptCalls` WHERE `key` = OLD.`id`; END",
	)
}
