package migrations

// Hourly counts for the dashboard's charts: delivery attempts by webhook, with response times, and events by type. `_counted` has
// the last event and the last attempt counted. An hour is the first 13 characters of a stored time.
func init() {
	execute("1760000020_activity.go",
		"CREATE TABLE `_webhookHours` (`hour` TEXT NOT NULL, `webhook` TEXT NOT NULL, "+
			"`delivered` INTEGER NOT NULL, `retried` INTEGER NOT NULL, `failed` INTEGER NOT NULL, `answers` TEXT NOT NULL, "+
			"PRIMARY KEY (`hour`, `webhook`)) WITHOUT ROWID",
		"CREATE TABLE `_eventHours` (`hour` TEXT NOT NULL, `type` TEXT NOT NULL, `events` INTEGER NOT NULL, "+
			"PRIMARY KEY (`hour`, `type`)) WITHOUT ROWID",
		"CREATE TABLE `_counted` (`table` TEXT PRIMARY KEY, `row` TEXT NOT NULL, `time` TEXT NOT NULL) WITHOUT ROWID",
		"INSERT INTO `_counted` VALUES ('events', '', ''), ('delivery_attempts', '', '')",
	)
}
