package migrations

// The position: the last event whose deliveries are placed, empty before the first. The events behind it are those with higher
// row numbers. A number that is free at the end is given out again, and so the position goes back to the event before where its
// own is deleted.
func init() {
	execute("1760000018_position.go",
		"CREATE TABLE `_position` (`id` INTEGER PRIMARY KEY CHECK (`id` = 1), `event` TEXT NOT NULL)",
		"INSERT INTO `_position` (`id`, `event`) VALUES (1, '')",
		"CREATE TRIGGER `_position_event_delete` AFTER DELETE ON `events` WHEN OLD.`id` = (SELECT `event` FROM `_position`) BEGIN "+
			"UPDATE `_position` SET `event` = COALESCE((SELECT `id` FROM `events` WHERE rowid < OLD.rowid ORDER BY rowid DESC LIMIT 1), ''); END",
	)
}
