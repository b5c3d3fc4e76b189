// Command plain is PocketBase with one collection, which has the fields and indexes of a contact and which anyone may
// read and write. The benchmark compares the program with it.
//
// Its request log is off, unless PLAIN_LOG is "on". PLAIN_SYNCHRONOUS is SQLite's setting of durability, by default
// that of PocketBase: NORMAL. With PLAIN_WEBHOOKS, a hook sends new contacts to PLAIN_URLS.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

const contactsName = "contacts"

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{HideStartBanner: true, DBConnect: connect})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.InstallerFunc = nil
		if err := setLog(e.App, os.Getenv("PLAIN_LOG") == "on"); err != nil {
			return err
		}
		if _, err := e.App.FindCollectionByNameOrId(contactsName); err != nil {
			if err := e.App.Save(contacts()); err != nil {
				return err
			}
		}
		return e.Next()
	})
	bindWebhooks(app)
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// connect opens a database as PocketBase does, but for the durability.
func connect(path string) (*dbx.DB, error) {
	synchronous := os.Getenv("PLAIN_SYNCHRONOUS")
	if synchronous == "" {
		return core.DefaultDBConnect(path)
	}
	return dbx.Open("sqlite", fmt.Sprintf("%s?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"+
		"&_pragma=journal_size_limit(200000000)&_pragma=synchronous(%s)"+
		"&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)", path, synchronous))
}

// setLog turns the request log on or off.
func setLog(app core.App, on bool) error {
	settings := app.Settings()
	if on == (settings.Logs.MaxDays > 0) {
		return nil
	}
	settings.Logs.MaxDays = 0
	if on {
		settings.Logs.MaxDays = 5 // PocketBase's default
	}
	return app.Save(settings)
}

func contacts() *core.Collection {
	c := core.NewBaseCollection(contactsName)
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
	return c
}
