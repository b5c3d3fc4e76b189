package migrations

import (
	"errors"
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// The position: the last event whose deliveries are placed, empty before the first. Everything so far has its deliveries. The
// events behind it are those with higher row numbers. A number that is free at the end is given out again, and so the
// position goes back to the event before where its own is deleted.
func init() {
	const file = "1761000006_position.go"
	up := []string{
		"CREATE TABLE `_position` (`id` INTEGER PRIMARY KEY CHECK (`id` = 1), `event` TEXT NOT NULL)",
		"INSERT INTO `_position` (`id`, `event`) VALUES (1, COALESCE((SELECT `id` FROM `events` ORDER BY rowid DESC LIMIT 1), ''))",
		"CREATE TRIGGER `_position_event_delete` AFTER DELETE ON `events` WHEN OLD.`id` = (SELECT `event` FROM `_position`) BEGIN " +
			"UPDATE `_position` SET `event` = COALESCE((SELECT `id` FROM `events` WHERE rowid < OLD.rowid ORDER BY rowid DESC LIMIT 1), ''); END",
	}
	down := []string{"DROP TRIGGER `_position_event_delete`", "DROP TABLE `_position`"}
	run := func(app core.App, statements []string) error {
		for _, statement := range statements {
			if _, err := app.DB().NewQuery(statement).Execute(); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		return nil
	}
	m.Register(func(app core.App) error { return run(app, up) }, func(app core.App) error {
		var placed bool
		err := app.DB().NewQuery("SELECT COALESCE((SELECT MAX(rowid) FROM `events`), 0) = COALESCE((SELECT e.rowid FROM `_position` p JOIN `events` e ON e.`id` = p.`event`), 0)").Row(&placed)
		if err == nil && !placed {
			err = errors.New("events have no deliveries yet: let the server run until they have")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return run(app, down)
	}, file)
}
