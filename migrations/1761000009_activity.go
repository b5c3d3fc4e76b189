package migrations

import (
	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// What happens is counted by the hour, for the charts of the dashboard: attempts to deliver by webhook, with how long the
// receivers took to answer, and events by type. `_counted` has the last event and the last attempt that are counted; counting
// begins with those after this migration. An hour is the first 13 characters of a stored time.
func init() {
	const file = "1761000009_activity.go"
	up := []string{
		"CREATE TABLE `_webhookHours` (`hour` TEXT NOT NULL, `webhook` TEXT NOT NULL, " +
			"`delivered` INTEGER NOT NULL, `retried` INTEGER NOT NULL, `failed` INTEGER NOT NULL, `answers` TEXT NOT NULL, " +
			"PRIMARY KEY (`hour`, `webhook`)) WITHOUT ROWID",
		"CREATE TABLE `_eventHours` (`hour` TEXT NOT NULL, `type` TEXT NOT NULL, `events` INTEGER NOT NULL, " +
			"PRIMARY KEY (`hour`, `type`)) WITHOUT ROWID",
		"CREATE TABLE `_counted` (`table` TEXT PRIMARY KEY, `row` TEXT NOT NULL, `time` TEXT NOT NULL) WITHOUT ROWID",
		"INSERT INTO `_counted` SELECT 'events', coalesce(max(`id`), ''), coalesce(max(`created`), '') " +
			"FROM (SELECT `id`, `created` FROM `events` ORDER BY rowid DESC LIMIT 1)",
		"INSERT INTO `_counted` SELECT 'delivery_attempts', coalesce(max(`id`), ''), coalesce(max(`started`), '') " +
			"FROM (SELECT `id`, `started` FROM `delivery_attempts` ORDER BY rowid DESC LIMIT 1)",
	}
	down := []string{"DROP TABLE `_counted`", "DROP TABLE `_eventHours`", "DROP TABLE `_webhookHours`"}
	run := func(statements []string) func(core.App) error {
		return func(app core.App) error { return executeAll(app, file, statements) }
	}
	m.Register(run(up), run(down), file)
}
