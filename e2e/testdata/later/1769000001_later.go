// Package main has a field, an index and a table that a later version may add, with the down migration. Tests build
// the program with this file beside its main.go, so that only that package is compiled again.
package main

import (
	"errors"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

func init() {
	const index = "idx_webhooks_laterField"
	up := func(webhooks *core.Collection) string {
		webhooks.Fields.Add(&core.TextField{Name: "laterField", Max: 100}) // PocketBase removes no System fields
		webhooks.AddIndex(index, false, "`tenant`, `laterField`", "")
		return "CREATE TABLE `_later` (`webhook` TEXT PRIMARY KEY) WITHOUT ROWID"
	}
	down := func(webhooks *core.Collection) string {
		webhooks.RemoveIndex(index)
		webhooks.Fields.RemoveByName("laterField")
		return "DROP TABLE `_later`"
	}
	run := func(change func(webhooks *core.Collection) (statement string)) func(core.App) error {
		return func(app core.App) error {
			webhooks, err := app.FindCollectionByNameOrId("webhooks")
			if err != nil {
				return err
			}
			_, err = app.DB().NewQuery(change(webhooks)).Execute()
			return errors.Join(err, app.Save(webhooks))
		}
	}
	m.Register(run(up), run(down), "1769000001_later.go")
}
