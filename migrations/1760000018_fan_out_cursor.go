package migrations

// The fan-out cursor: the last event that has its deliveries, empty before the first. The events after it are those with higher row
// numbers. SQLite uses a number that is free at the end again, so the cursor goes back to the event before when its own is deleted.
func init() {
	execute("1760000018_fan_out_cursor.go",
		"CREATE TABLE `_fanOutCursor` (`id` INTEGER PRIMARY KEY CHECK (`id` = 1), `event` TEXT NOT NULL)",
		"INSERT INTO `_fanOutCursor` (`id`, `event`) VALUES (1, '')",
		"CREATE TRIGGER `_fanOutCursor_event_delete` AFTER DELETE ON `events` WHEN OLD.`id` = (SELECT `event` FROM `_fanOutCursor`) BEGIN "+
			"UPDATE `_fanOutCursor` SET `event` = COALESCE((SELECT `id` FROM `events` WHERE rowid < OLD.rowid ORDER BY rowid DESC LIMIT 1), ''); END",
	)
}
