package migrations

import "strings"

// No tenant is fanned out apart from the others any more. The events of those that were, from their positions on, are
// left to the fan-out like all others: the cursor moves back to the first of them. What was fanned out before is not
// fanned out again, because each webhook gets only the events after the one in `_fanOutSince`: for tenants that were
// not set aside the newest before the cursor, and for those that were the newest before their position, or that of
// the position for the webhooks that were done with it.
func init() {
	const (
		cursor  = "coalesce((SELECT rowid FROM `events` WHERE `id` = (SELECT `event` FROM `_fanOutCursor`)), 0)"
		waiting = "`_fanOutAside` a CROSS JOIN `events` f ON f.`id` = a.`event` AND f.rowid <= " + cursor
		first   = "(SELECT min(f.rowid) FROM " + waiting + ")"
		newest  = "INSERT OR REPLACE INTO `_fanOutSince` (`webhook`, `tenant`, `event`) " +
			"SELECT NEW.`id`, NEW.`tenant`, `id` FROM `events` " +
			"WHERE `tenant` = NEW.`tenant` AND rowid > " + cursor + " ORDER BY rowid DESC LIMIT 1; END"
		made    = "CREATE TRIGGER `_fanOutSince_webhook_insert` AFTER INSERT ON `webhooks` BEGIN "
		enabled = "CREATE TRIGGER `_fanOutSince_webhook_enable` AFTER UPDATE OF `disabled` ON `webhooks` " +
			"WHEN OLD.`disabled` AND NOT NEW.`disabled` BEGIN "
	)
	since := strings.NewReplacer("{cursor}", cursor, "{waiting}", waiting, "{first}", first).Replace(`
		INSERT OR REPLACE INTO _fanOutSince (webhook, tenant, event)
		WITH done(webhook, tenant, row) AS MATERIALIZED (
			SELECT w.id, w.tenant, (SELECT max(e.rowid) FROM events e WHERE e.tenant = w.tenant AND e.rowid <= coalesce((
				SELECT iif(w.rowid <= coalesce((SELECT p.rowid FROM webhooks p WHERE p.id = a.webhook), 0), f.rowid, f.rowid - 1)
				FROM {waiting} WHERE a.tenant = w.tenant), {cursor}))
			FROM webhooks w WHERE {first} IS NOT NULL)
		SELECT d.webhook, d.tenant, e.id FROM done d CROSS JOIN events e ON e.rowid = d.row
		WHERE d.row >= {first} AND NOT EXISTS (
			SELECT 1 FROM _fanOutSince s CROSS JOIN events k ON k.id = s.event
			WHERE s.webhook = d.webhook AND k.rowid > d.row)`)
	execute("1760000043_fan_out.go",
		since,
		"DROP TRIGGER `_fanOutAside_event_delete`",
		"DROP TRIGGER `_fanOutAside_webhook_delete`",
		"DROP TRIGGER `_fanOutAside_tenant_delete`",
		"DROP TRIGGER `_fanOutSince_aside_delete`",
		"DROP TRIGGER `_fanOutSince_webhook_insert`",
		"DROP TRIGGER `_fanOutSince_webhook_enable`",
		"DROP TRIGGER `_fanOutSince_cursor_update`",
		"UPDATE `_fanOutCursor` SET `event` = coalesce("+
			"(SELECT `id` FROM `events` WHERE rowid < "+first+" ORDER BY rowid DESC LIMIT 1), '') WHERE "+first+" IS NOT NULL",
		"DROP TABLE `_fanOutAside`",
		made+newest,
		enabled+newest,
		"CREATE TRIGGER `_fanOutSince_cursor_update` AFTER UPDATE ON `_fanOutCursor` "+
			"WHEN EXISTS (SELECT 1 FROM `_fanOutSince`) BEGIN DELETE FROM `_fanOutSince` WHERE "+
			"coalesce((SELECT e.rowid FROM `events` e WHERE e.`id` = `_fanOutSince`.`event`), 0) <= "+cursor+"; END",
	)
}
