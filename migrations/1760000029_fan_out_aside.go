package migrations

// Tenants whose events are fanned out apart from the others: `event` is the first one that has not all of its
// deliveries, `webhook` the last webhook that was considered for it, in the order of their rows, and `steps` what its
// filters took so far. Deleted rows move the position as they move the fan-out cursor. `_fanOutSince` has the
// webhooks of such tenants that were made or enabled meanwhile: they get the events after `event`. Reverted, the
// fan-out cursor goes back to the first event that waits: no delivery is written twice.
func init() {
	const since = "INSERT OR REPLACE INTO `_fanOutSince` (`webhook`, `tenant`, `event`) " +
		"SELECT NEW.`id`, NEW.`tenant`, coalesce((SELECT `id` FROM `events` ORDER BY rowid DESC LIMIT 1), '') " +
		"WHERE EXISTS (SELECT 1 FROM `_fanOutAside` WHERE `tenant` = NEW.`tenant`); END"
	const firstAside = "SELECT min(e.rowid) FROM `_fanOutAside` a JOIN `events` e ON e.`id` = a.`event`"
	const nextEvent = "(SELECT `id` FROM `events` WHERE `tenant` = OLD.`tenant` AND rowid > OLD.rowid ORDER BY rowid LIMIT 1)"
	revertible("1760000029_fan_out_aside.go", []string{
		"CREATE TABLE `_fanOutAside` (`tenant` TEXT PRIMARY KEY NOT NULL, `event` TEXT NOT NULL, `webhook` TEXT NOT NULL DEFAULT '', " +
			"`steps` INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID",
		"CREATE TABLE `_fanOutSince` (`webhook` TEXT PRIMARY KEY NOT NULL, `tenant` TEXT NOT NULL, `event` TEXT NOT NULL) WITHOUT ROWID",
		"CREATE TRIGGER `_fanOutAside_event_delete` AFTER DELETE ON `events` " +
			"WHEN EXISTS (SELECT 1 FROM `_fanOutAside` WHERE `tenant` = OLD.`tenant` AND `event` = OLD.`id`) BEGIN " +
			"DELETE FROM `_fanOutAside` WHERE `tenant` = OLD.`tenant` AND " + nextEvent + " IS NULL; " +
			"UPDATE `_fanOutAside` SET `event` = " + nextEvent + ", `webhook` = '', `steps` = 0 WHERE `tenant` = OLD.`tenant`; END",
		"CREATE TRIGGER `_fanOutAside_webhook_delete` AFTER DELETE ON `webhooks` BEGIN " +
			"UPDATE `_fanOutAside` SET `webhook` = coalesce((SELECT `id` FROM `webhooks` WHERE `tenant` = OLD.`tenant` AND rowid < OLD.rowid " +
			"ORDER BY rowid DESC LIMIT 1), '') WHERE `tenant` = OLD.`tenant` AND `webhook` = OLD.`id`; END",
		"CREATE TRIGGER `_fanOutAside_tenant_delete` AFTER DELETE ON `tenants` BEGIN DELETE FROM `_fanOutAside` WHERE `tenant` = OLD.`id`; END",
		"CREATE TRIGGER `_fanOutSince_webhook_insert` AFTER INSERT ON `webhooks` BEGIN " + since,
		"CREATE TRIGGER `_fanOutSince_webhook_enable` AFTER UPDATE OF `disabled` ON `webhooks` WHEN OLD.`disabled` AND NOT NEW.`disabled` BEGIN " + since,
		"CREATE TRIGGER `_fanOutSince_aside_delete` AFTER DELETE ON `_fanOutAside` BEGIN DELETE FROM `_fanOutSince` WHERE `tenant` = OLD.`tenant`; END",
	}, []string{
		"UPDATE `_fanOutCursor` SET `event` = coalesce((SELECT `id` FROM `events` WHERE rowid < (" + firstAside + ") ORDER BY rowid DESC LIMIT 1), '') " +
			"WHERE (" + firstAside + ") <= (SELECT e.rowid FROM `events` e WHERE e.`id` = `_fanOutCursor`.`event`)",
		"DROP TRIGGER `_fanOutAside_event_delete`",
		"DROP TRIGGER `_fanOutAside_webhook_delete`",
		"DROP TRIGGER `_fanOutAside_tenant_delete`",
		"DROP TRIGGER `_fanOutSince_webhook_insert`",
		"DROP TRIGGER `_fanOutSince_webhook_enable`",
		"DROP TRIGGER `_fanOutSince_aside_delete`",
		"DROP TABLE `_fanOutSince`",
		"DROP TABLE `_fanOutAside`",
	})
}
