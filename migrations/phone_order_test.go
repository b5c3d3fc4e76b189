package migrations_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// Only the index of phone numbers is built again, also beside an admin's indexes, and the collection lists it.
func TestPhoneOrderReplacesOneIndex(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	all := core.AppMigrations.Items()
	i := slices.IndexFunc(all, func(m *core.Migration) bool { return m.File == "1760000038_phone_order.go" })
	contacts, err := app.FindCollectionByNameOrId("contacts")
	if err != nil {
		t.Fatal(err)
	}
	contacts.AddIndex("idx_contacts_mine", true, "`tenant`, `company`, `name`", "")
	if err := app.Save(contacts); err != nil {
		t.Fatal(err)
	}
	// indexes returns the definition of the index, the one that the collection lists, and where the others
	// begin in the file.
	indexes := func() (definition, listed string, others []string) {
		t.Helper()
		const othersSQL = "SELECT name || ' ' || rootpage FROM sqlite_schema " +
			"WHERE type = 'index' AND name != 'idx_contacts_phone' ORDER BY 1"
		if err := app.DB().NewQuery(othersSQL).Column(&others); err != nil {
			t.Fatal(err)
		}
		const definitionSQL = "SELECT sql FROM sqlite_schema WHERE name = 'idx_contacts_phone'"
		if err := app.DB().NewQuery(definitionSQL).Row(&definition); err != nil {
			t.Fatal(err)
		}
		contacts, err := app.FindCachedCollectionByNameOrId("contacts")
		if err != nil || len(contacts.Indexes) != 5 {
			t.Fatalf("the collection is %v, %v", contacts, err)
		}
		return definition, contacts.GetIndex("idx_contacts_phone"), others
	}
	_, _, before := indexes()
	for _, step := range []struct {
		migrate func(core.App) error
		columns string
	}{{all[i].Down, "(`tenant`, `phone`)"}, {all[i].Up, "(`tenant`, `phone`, `created`, `id`)"}} {
		if err := app.RunInTransaction(step.migrate); err != nil {
			t.Fatal(err)
		}
		definition, listed, others := indexes()
		if !strings.Contains(definition, step.columns) || definition != listed {
			t.Errorf("the index is %s, and the collection lists %s", definition, listed)
		}
		if !slices.Equal(others, before) {
			t.Errorf("the others are %q, not %q", others, before)
		}
	}
}
