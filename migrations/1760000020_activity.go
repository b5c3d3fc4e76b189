package migrations

// Counts by hour and by minute for the dashboard's charts: delivery attempts by webhook, with response times, and
// events by type. `_counted` has the last event and the last attempt counted. An hour is the first 13 characters of a
// stored time, a minute the first 16.
func init() {
	execute("1760000020_activity.go",
		"CREATE TABLE `_webhookHours` (`hour` TEXT NOT NULL, `webhook` TEXT NOT NULL, "+
			"`delivered` INTEGER NOT NULL, `retried` INTEGER NOT NULL, `failed` INTEGER NOT NULL, `answers` TEXT NOT NULL, "+
			"PRIMARY KEY (`hour`, `webhook`)) WITHOUT ROWID",
		"CREATE TABLE `_webhookMinutes` (`minute` TEXT NOT NULL, `webhook` TEXT NOT NULL, "+
			"`delivered` INTEGER NOT NULL, `retried` INTEGER NOT NULL, `failed` INTEGER NOT NULL, `answers` TEXT NOT NULL, "+
			"PRIMARY KEY (`minute`, `webhook`)) WITHOUT ROWID",
		"CREATE TABLE `_eventHours` (`hour` TEXT NOT NULL, `type` TEXT NOT NULL, `events` INTEGER NOT NULL, "+
			"PRIMARY KEY (`hour`, `type`)) WITHOUT ROWID",
		"CREATE TABLE `_eventMinutes` (`minute` TEXT NOT NULL, `type` TEXT NOT NULL, `events` INTEGER NOT NULL, "+
			"PRIMARY KEY (`minute`, `type`)) WITHOUT ROWID",
		"CREATE TABLE `_counted` (`table` TEXT PRIMARY KEY, `row` TEXT NOT NULL, `time` TEXT NOT NULL) WITHOUT ROWID",
		"INSERT INTO `_counted` VALUES ('events', '', ''), ('delivery_attempts', '', '')",
	)
}
