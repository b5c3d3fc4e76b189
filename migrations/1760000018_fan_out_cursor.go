package migrations

// The fan-out cursor: the last event that has its deliveries, empty before the first. Later events have higher
// row numbers. SQLite reuses the highest row number once it is free, so the cursor moves back one event when
// its own is deleted.
func init() {
	execute("1760000018_fan_out_cursor.go",
		"CREATE TABLE `_fanOutCursor` (`id` INTEGER PRIMARY KEY CHECK (`id` = 1), `event` TEXT NOT NULL)",
		"INSERT INTO `_fanOutCursor` (`id`, `event`) VALUES (1, '')",
		"CREATE TRIGGER `_fanOutCursor_event_delete` AFTER DELETE ON `events` WHEN OLD.`id` = (SELECT `event` FROM `_fanOutCursor`) BEGIN "+
			"UPDATE `_fanOutCursor` SET `event` = COALESCE((SELECT `id` FROM `events` WHERE rowid < OLD.rowid ORDER BY rowid DESC LIMIT 1), ''); END",
	)
}
