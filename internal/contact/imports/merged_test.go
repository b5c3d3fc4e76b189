package imports_test

import (
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/testkit"
)

// Rows with an old id or external id of a merged contact change the one that remains, which keeps its own: a check tells
// so before. A row that would create another contact takes an external id over.
func TestImportFindsMergedContacts(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	contactOf := func(externalID string) *contact.Contact {
		c, err := testkit.Create(app, acme, contact.Changes{"name": "Ada", "externalId": externalID})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	remaining, old, last := contactOf("crm-1"), contactOf("crm-2"), contactOf("crm-3")
	merge := contact.Merge{ID: remaining.ID, From: []string{old.ID, last.ID}, Fields: map[string]string{"externalId": remaining.ID}}
	err := app.RunInTransaction(func(tx core.App) error {
		_, err := merge.Apply(tx, acme)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := imports.Counts{RowsCreated: 1, RowsUpdated: 2, RowsRepeated: 1}
	stored := store(t, app, acme, "id,externalId,name,company\n"+old.ID+",crm-2,Ada,A\n,crm-3,Ada,B\n,crm-4,New,C\n")
	begin(t, app, stored, "", check)
	if checked := work(t, app, stored.ID); checked.Counts != want {
		t.Errorf("the check tells %+v", checked)
	}
	begin(t, app, stored, "", start)
	if done := work(t, app, stored.ID); done.Counts != want {
		t.Errorf("the import did %+v", done)
	}
	const kept = "SELECT count(*) FROM contacts WHERE id = {:id} AND externalId = 'crm-1' AND company = 'B'"
	if n := testkit.Count(t, app, kept, dbx.Params{"id": remaining.ID}); n != 1 {
		t.Error("the remaining contact is not as the rows say")
	}
	stored = store(t, app, acme, "externalId,name,email\ncrm-3,New,new@example.com\n")
	begin(t, app, stored, "email", start)
	if done := work(t, app, stored.ID); done.RowsCreated != 1 {
		t.Errorf("the import did %+v", done)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM _mergedContacts WHERE oldExternalId = 'crm-3'", nil); n != 0 {
		t.Error("the external id still leads to the remaining contact")
	}
}
