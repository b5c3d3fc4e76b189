package migrations

// A row for each webhook whose last attempt failed: since when its attempts fail, how many have failed, and why the
// last one did, "" if unknown. Those that fail already begin with their oldest hour after the last success.
func init() {
	revertible("1760000094_failing_webhooks.go", []string{
		"CREATE TABLE `_failingWebhooks` (`webhook` TEXT PRIMARY KEY NOT NULL, `since` TEXT NOT NULL, `attempts` INTEGER NOT NULL, `error` TEXT NOT NULL) WITHOUT ROWID",
		"CREATE TRIGGER `_failingWebhooks_webhook_delete` AFTER DELETE ON `webhooks` BEGIN DELETE FROM `_failingWebhooks` WHERE `webhook` = OLD.`id`; END",
		"WITH hours AS (SELECT * FROM `_activity` WHERE `kind` = 'webhook' AND `grain` = 3600), " +
			"successes AS (SELECT `of`, max(`start`) AS `last` FROM hours WHERE `done` > 0 GROUP BY `of`) " +
			"INSERT INTO `_failingWebhooks` SELECT h.`of`, min(h.`start`) || ':00:00.000Z', sum(h.`retried` + h.`failed`), '' " +
			"FROM hours h LEFT JOIN successes s ON s.`of` = h.`of` " +
			"WHERE (s.`last` IS NULL OR h.`start` > s.`last`) AND h.`of` IN (SELECT `id` FROM `webhooks`) " +
			"GROUP BY h.`of` HAVING sum(h.`retried` + h.`failed`) > 0",
	}, []string{
		"DROP TRIGGER `_failingWebhooks_webhook_delete`",
		"DROP TABLE `_failingWebhooks`",
	})
}
