package migrations

import (
	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

func init() {
	m.Register(func(app core.App) error {
		contacts, err := app.FindCollectionByNameOrId("contacts")
		if err != nil {
			return err
		}
		contacts.Fields.Add(&core.TextField{Name: "jobTitle", Max: 100, System: true})
		contacts.AddIndex("idx_contacts_jobTitle", false, "`tenant`, `jobTitle` COLLATE NOCASE, `id`", "")
		return app.Save(contacts)
	}, nil, "1999999999_job_title.go")
}
