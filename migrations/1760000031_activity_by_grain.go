package migrations

import "strings"

// Activity is counted in one table, by the hour and by the minute: `grain` is the length of a row in seconds, and
// `start` the beginning of a stored time. `kind` is webhook, event or key, and `of` the id of the webhook or key, or
// the type of the events. `done` counts delivered attempts, events, and calls with a status below 400.
func init() {
	statements := []string{
		"CREATE TABLE `_activity` (`kind` TEXT NOT NULL, `grain` INTEGER NOT NULL, `start` TEXT NOT NULL, `of` TEXT NOT NULL, " +
			"`done` INTEGER NOT NULL DEFAULT 0, `retried` INTEGER NOT NULL DEFAULT 0, `refused` INTEGER NOT NULL DEFAULT 0, " +
			"`limited` INTEGER NOT NULL DEFAULT 0, `failed` INTEGER NOT NULL DEFAULT 0, `answers` TEXT NOT NULL DEFAULT '[]', " +
			"PRIMARY KEY (`kind`, `grain`, `start`, `of`)) WITHOUT ROWID",
	}
	const start = "INSERT INTO `_activity` (`kind`, `grain`, `start`, `of`, "
	hours := []string{
		start + "`done`, `retried`, `failed`, `answers`) SELECT 'webhook', 3600, `hour`, `webhook`, `delivered`, `retried`, `failed`, `answers` FROM `_webhookHours`",
		start + "`done`) SELECT 'event', 3600, `hour`, `type`, `events` FROM `_eventHours`",
		start + "`done`, `refused`, `limited`, `failed`) SELECT 'key', 3600, `hour`, `key`, `answered`, `refused`, `limited`, `failed` FROM `_keyHours`",
		"DROP TABLE `_webhookHours`", "DROP TABLE `_eventHours`", "DROP TABLE `_keyHours`",
	}
	minutes := strings.NewReplacer("3600", "60", "`hour`", "`minute`", "Hours`", "Minutes`")
	for _, statement := range hours {
		statements = append(statements, statement, minutes.Replace(statement))
	}
	execute("1760000031_activity_by_grain.go", statements...)
}
