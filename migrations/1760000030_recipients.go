package migrations

// Who receives an event is decided at fan-out, so `_fanOutSince` has all webhooks that were made or enabled while
// events of their tenants waited for it: they get the events after `event`. Its rows end when the fan-out has passed
// that. A change of a webhook counts as one of the credentials, because what is cached of webhooks depends on it.
func init() {
	const (
		newest = "INSERT OR REPLACE INTO `_fanOutSince` (`webhook`, `tenant`, `event`) "
		before = newest + "SELECT NEW.`id`, NEW.`tenant`, coalesce((SELECT `id` FROM `events` ORDER BY rowid DESC LIMIT 1), '') " +
			"WHERE EXISTS (SELECT 1 FROM `_fanOutAside` WHERE `tenant` = NEW.`tenant`); END"
		cursor = "coalesce((SELECT rowid FROM `events` WHERE `id` = (SELECT `event` FROM `_fanOutCursor`)), 0)"
		after  = newest + "SELECT NEW.`id`, NEW.`tenant`, `id` FROM `events` WHERE `tenant` = NEW.`tenant` " +
			"AND (rowid > " + cursor + " OR EXISTS (SELECT 1 FROM `_fanOutAside` WHERE `tenant` = NEW.`tenant`)) ORDER BY rowid DESC LIMIT 1; END"
		made    = "CREATE TRIGGER `_fanOutSince_webhook_insert` AFTER INSERT ON `webhooks` BEGIN "
		enabled = "CREATE TRIGGER `_fanOutSince_webhook_enable` AFTER UPDATE OF `disabled` ON `webhooks` WHEN OLD.`disabled` AND NOT NEW.`disabled` BEGIN "
		bump    = "BEGIN UPDATE `_credentialVersion` SET `version` = `version` + 1; END"
	)
	revertible("1760000030_recipients.go", []string{
		"DROP TRIGGER `_fanOutSince_webhook_insert`",
		"DROP TRIGGER `_fanOutSince_webhook_enable`",
		made + after,
		enabled + after,
		"CREATE TRIGGER `_fanOutSince_webhook_delete` AFTER DELETE ON `webhooks` BEGIN DELETE FROM `_fanOutSince` WHERE `webhook` = OLD.`id`; END",
		"CREATE TRIGGER `_fanOutSince_cursor_update` AFTER UPDATE ON `_fanOutCursor` WHEN EXISTS (SELECT 1 FROM `_fanOutSince`) BEGIN " +
			"DELETE FROM `_fanOutSince` WHERE `tenant` NOT IN (SELECT `tenant` FROM `_fanOutAside`) " +
			"AND coalesce((SELECT e.rowid FROM `events` e WHERE e.`id` = `_fanOutSince`.`event`), 0) <= " + cursor + "; END",
		"CREATE TRIGGER `_credentialVersion_webhooks_insert` AFTER INSERT ON `webhooks` " + bump,
		"CREATE TRIGGER `_credentialVersion_webhooks_update` AFTER UPDATE ON `webhooks` " +
			"WHEN OLD.`tenant` IS NOT NEW.`tenant` OR OLD.`events` IS NOT NEW.`events` OR OLD.`filter` IS NOT NEW.`filter` " +
			"OR OLD.`disabled` IS NOT NEW.`disabled` " + bump,
		"CREATE TRIGGER `_credentialVersion_webhooks_delete` AFTER DELETE ON `webhooks` " + bump,
	}, []string{
		"DROP TRIGGER `_credentialVersion_webhooks_delete`",
		"DROP TRIGGER `_credentialVersion_webhooks_update`",
		"DROP TRIGGER `_credentialVersion_webhooks_insert`",
		"DROP TRIGGER `_fanOutSince_cursor_update`",
		"DROP TRIGGER `_fanOutSince_webhook_delete`",
		"DROP TRIGGER `_fanOutSince_webhook_enable`",
		"DROP TRIGGER `_fanOutSince_webhook_insert`",
		"DELETE FROM `_fanOutSince` WHERE `tenant` NOT IN (SELECT `tenant` FROM `_fanOutAside`)",
		made + before,
		enabled + before,
	})
}
