package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// The feed of a tenant is read in the order of its events' rows, for which there is an index. What is gone of it is told by one
// row: the last event that is gone, and the last that is kept in front of it, empty for none. A place in the feed is good as long
// as nothing behind it is gone. Pings go to one webhook alone and are in no feed.
func init() {
	const file = "1761000007_feed.go"
	const index = "idx_events_feed"
	up := []string{
		"CREATE TABLE `_eventsGone` (`tenant` TEXT PRIMARY KEY NOT NULL, `event` TEXT NOT NULL, `before` TEXT NOT NULL) WITHOUT ROWID",
		"CREATE TRIGGER `_eventsGone_event_delete` AFTER DELETE ON `events` " +
			"WHEN OLD.`type` <> 'webhook.ping' AND EXISTS (SELECT 1 FROM `tenants` WHERE `id` = OLD.`tenant`) BEGIN " +
			"INSERT INTO `_eventsGone` (`tenant`, `event`, `before`) " +
			"SELECT OLD.`tenant`, OLD.`id`, " + eventBefore + " WHERE NOT EXISTS (SELECT 1 FROM `_eventsGone` g WHERE g.`tenant` = OLD.`tenant` " +
			"AND (g.`before` = OLD.`id` OR OLD.rowid < (SELECT kept.rowid FROM `events` kept WHERE kept.`id` = g.`before`))) " +
			"ON CONFLICT (`tenant`) DO UPDATE SET `event` = excluded.`event`, `before` = excluded.`before`; " +
			"UPDATE `_eventsGone` SET `before` = " + eventBefore + " WHERE `tenant` = OLD.`tenant` AND `before` = OLD.`id`; END",
		"CREATE TRIGGER `_eventsGone_tenant_delete` AFTER DELETE ON `tenants` BEGIN DELETE FROM `_eventsGone` WHERE `tenant` = OLD.`id`; END",
	}
	down := []string{"DROP TRIGGER `_eventsGone_tenant_delete`", "DROP TRIGGER `_eventsGone_event_delete`", "DROP TABLE `_eventsGone`"}
	run := func(app core.App, change func(*core.Collection), statements []string) error {
		events, err := app.FindCollectionByNameOrId("events")
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		change(events)
		if err := app.Save(events); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, statement := range statements {
			if _, err := app.DB().NewQuery(statement).Execute(); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		return nil
	}
	m.Register(func(app core.App) error {
		return run(app, func(c *core.Collection) { c.AddIndex(index, false, "`tenant`", "") }, up)
	}, func(app core.App) error {
		return run(app, func(c *core.Collection) { c.RemoveIndex(index) }, down)
	}, file)
}

// eventBefore is the event of the tenant that is kept in front of the deleted one.
const eventBefore = "COALESCE((SELECT kept.`id` FROM `events` kept " +
	"WHERE kept.`tenant` = OLD.`tenant` AND kept.rowid < OLD.rowid AND kept.`type` <> 'webhook.ping' ORDER BY kept.rowid DESC LIMIT 1), '')"
