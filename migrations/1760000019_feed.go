package migrations

// One row per tenant records the deleted part of its feed: the last deleted event, and the last kept event before
// it, empty for none. A cursor is valid as long as no event after it has been deleted. Pings go to one webhook only
// and are in no feed.
func init() {
	const keptBefore = "COALESCE((SELECT kept.`id` FROM `events` kept " +
		"WHERE kept.`tenant` = OLD.`tenant` AND kept.rowid < OLD.rowid AND kept.`type` <> 'webhook.ping' ORDER BY kept.rowid DESC LIMIT 1), '')"
	execute("1760000019_feed.go",
		"CREATE TABLE `_eventsGone` (`tenant` TEXT PRIMARY KEY NOT NULL, `event` TEXT NOT NULL, `before` TEXT NOT NULL) WITHOUT ROWID",
		"CREATE TRIGGER `_eventsGone_event_delete` AFTER DELETE ON `events` "+
			"WHEN OLD.`type` <> 'webhook.ping' AND EXISTS (SELECT 1 FROM `tenants` WHERE `id` = OLD.`tenant`) BEGIN "+
			"INSERT INTO `_eventsGone` (`tenant`, `event`, `before`) "+
			"SELECT OLD.`tenant`, OLD.`id`, "+keptBefore+" WHERE NOT EXISTS (SELECT 1 FROM `_eventsGone` g WHERE g.`tenant` = OLD.`tenant` "+
			"AND (g.`before` = OLD.`id` OR OLD.rowid < (SELECT kept.rowid FROM `events` kept WHERE kept.`id` = g.`before`))) "+
			"ON CONFLICT (`tenant`) DO UPDATE SET `event` = excluded.`event`, `before` = excluded.`before`; "+
			"UPDATE `_eventsGone` SET `before` = "+keptBefore+" WHERE `tenant` = OLD.`tenant` AND `before` = OLD.`id`; END",
		"CREATE TRIGGER `_eventsGone_tenant_delete` AFTER DELETE ON `tenants` BEGIN DELETE FROM `_eventsGone` WHERE `tenant` = OLD.`id`; END",
	)
}
