package migrations

import "github.com/pocketbase/pocketbase/core"

func init() {
	create("1760000003_contacts.go", func(app core.App) (*core.Collection, error) {
		tenant, err := relation(app, "tenant", "tenants")
		if err != nil {
			return nil, err
		}
		c := core.NewBaseCollection("contacts")
		c.Fields.Add(
			tenant,
			&core.TextField{Name: "name", Max: 255, Presentable: true},
			&core.TextField{Name: "email", Max: 254, Presentable: true},
			&core.TextField{Name: "phone", Max: 16},
			&core.TextField{Name: "company", Max: 255},
			&core.TextField{Name: "externalId", Max: 255},
		)
		c.Fields.Add(timestamps()...)
		c.AddIndex("idx_contacts_created", false, "`tenant`, `created`, `id`", "")
		c.AddIndex("idx_contacts_updated", false, "`tenant`, `updated`, `id`", "")
		c.AddIndex("idx_contacts_name", false, "`tenant`, `name` COLLATE NOCASE, `id`", "")
		c.AddIndex("idx_contacts_phone", false, "`tenant`, `phone`", "`phone` != ''")
		c.AddIndex("idx_contacts_externalId", true, "`tenant`, `externalId`", "`externalId` != ''")
		return c, nil
	})
}
