// Command plain is PocketBase as it comes, with the fields and indexes of a contact in a collection that anybody may
// read and write: what the benchmark compares with.
package main

import (
	"log"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{HideStartBanner: true})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.InstallerFunc = nil
		if _, err := e.App.FindCollectionByNameOrId("contacts"); err == nil {
			return e.Next()
		}
		c := core.NewBaseCollection("contacts")
		c.ListRule, c.ViewRule = types.Pointer(""), types.Pointer("")
		c.CreateRule, c.UpdateRule = types.Pointer(""), types.Pointer("")
		c.Fields.Add(
			&core.TextField{Name: "tenant", Max: 15},
			&core.TextField{Name: "name", Max: 255},
			&core.TextField{Name: "email", Max: 254},
			&core.TextField{Name: "phone", Max: 16},
			&core.TextField{Name: "company", Max: 255},
			&core.TextField{Name: "externalId", Max: 255},
			&core.AutodateField{Name: "created", OnCreate: true},
			&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
		)
		c.AddIndex("idx_contacts_created", false, "`tenant`, `created`, `id`", "")
		c.AddIndex("idx_contacts_updated", false, "`tenant`, `updated`, `id`", "")
		c.AddIndex("idx_contacts_name", false, "`tenant`, `name` COLLATE NOCASE, `id`", "")
		c.AddIndex("idx_contacts_phone", false, "`tenant`, `phone`", "`phone` != ''")
		c.AddIndex("idx_contacts_externalId", true, "`tenant`, `externalId`", "`externalId` != ''")
		if err := e.App.Save(c); err != nil {
			return err
		}
		return e.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}
