package contact_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
)

// Contacts that the API writes are announced as PocketBase announces records: after the commit, with the app that
// outlives it, and with what is in the database. An admin's own field makes no difference.
func TestWritesAreAnnounced(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]core.Field{"shipped fields": nil, "an admin's field": &core.TextField{Name: "note"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			if own != nil {
				b.addFields(own)
			}
			app, tenantID := b.app, b.tenant
			var announced []string
			note := func(e *core.RecordEvent) error {
				if e.App.IsTransactional() {
					t.Error("the app is that of the transaction")
				}
				stored, err := e.App.FindRecordById("contacts", e.Record.Id)
				if err != nil {
					t.Fatalf("the contact is not there: %v", err)
				}
				for _, field := range []string{"tenant", "name", "email", "phone", "company", "externalId", "created", "updated"} {
					if got, want := e.Record.GetString(field), stored.GetString(field); got != want {
						t.Errorf("%s: announced is %q, stored %q", field, got, want)
					}
				}
				if original := e.Record.Original(); e.Type == core.ModelEventTypeUpdate &&
					(original.Id != e.Record.Id || original.GetString("company") != "" || original.GetString("email") != "ada@example.com") {
					t.Errorf("the original is %v", original.FieldsData())
				}
				announced = append(announced, e.Type+" "+e.Record.GetString("company"))
				return e.Next()
			}
			app.OnRecordAfterCreateSuccess("contacts").BindFunc(note)
			app.OnRecordAfterUpdateSuccess("contacts").BindFunc(note)

			id := ""
			create := func(tx core.App) error {
				created, err := contact.Create(tx, tenantID, contact.Changes{"name": "Ada", "email": "ada@example.com", "phone": "+49301234"})
				if err == nil {
					id = created.ID
				}
				return err
			}
			update := func(tx core.App) error {
				_, _, err := contact.Update(tx, tenantID, id, contact.Changes{"company": "Engines"}, nil)
				return err
			}
			rolledBack := errors.New("rolled back")
			err := app.RunInTransaction(func(tx core.App) error { return errors.Join(create(tx), update(tx), rolledBack) })
			if !errors.Is(err, rolledBack) || len(announced) > 0 {
				t.Fatalf("a transaction that fails (%v) announces %q", err, announced)
			}
			for _, write := range []func(core.App) error{create, update, update} { // the last changes nothing
				before := len(announced)
				err := app.RunInTransaction(func(tx core.App) error {
					defer func() {
						if len(announced) > before {
							t.Errorf("announced before the commit: %q", announced[before:])
						}
					}()
					return write(tx)
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if want := []string{"create ", "update Engines"}; !slices.Equal(announced, want) {
				t.Errorf("announced is %q", announced)
			}
		})
	}
}
