package contact_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// Contacts that the API writes are announced as PocketBase announces records: after the commit, with the app that
// outlives it, and with what is in the database. An admin's own field makes no difference.
func TestWritesAreAnnounced(t *testing.T) {
	t.Parallel()
	for name, own := range map[string][]core.Field{"shipped fields": nil, "an admin's fields": {
		&core.TextField{Name: "note", AutogeneratePattern: "[a-z]{8}"}, &core.TextField{Name: "internal", Hidden: true, AutogeneratePattern: "[a-z]{8}"},
		&core.AutodateField{Name: "seen", OnCreate: true, OnUpdate: true},
	}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			testkit.AddFields(t, b.App, own...)
			app, tenantID := b.App, b.Tenant
			var announced []string
			note := func(e *core.RecordEvent) error {
				if e.App.IsTransactional() {
					t.Error("the app is that of the transaction")
				}
				stored, err := e.App.FindRecordById("contacts", e.Record.Id)
				if err != nil {
					t.Fatalf("the contact is not there: %v", err)
				}
				for _, field := range stored.Collection().Fields.FieldNames() {
					if got, want := e.Record.GetString(field), stored.GetString(field); got != want {
						t.Errorf("%s: announced is %q, stored %q", field, got, want)
					}
				}
				if original := e.Record.Original(); e.Type == core.ModelEventTypeUpdate &&
					(original.Id != e.Record.Id || original.GetString("company") != "" || original.GetString("email") != "ada@example.com" ||
						original.GetString("internal") != stored.GetString("internal")) {
					t.Errorf("the original is %v", original.FieldsData())
				}
				announced = append(announced, e.Type+" "+e.Record.GetString("company"))
				return e.Next()
			}
			app.OnRecordAfterCreateSuccess("contacts").BindFunc(note)
			app.OnRecordAfterUpdateSuccess("contacts").BindFunc(note)

			id := ""
			create := func(tx core.App) error {
				created, err := testkit.Create(tx, tenantID, contact.Changes{"name": "Ada", "email": "ada@example.com", "phone": "+49301234"})
				if err == nil {
					id = created.ID
				}
				return err
			}
			update := func(tx core.App) error {
				_, _, err := testkit.Update(tx, tenantID, id, contact.Changes{"company": "Engines"})
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

// Records that an administrator writes wake the workers: their events must not wait for another write.
func TestRecordsWakeTheWorkers(t *testing.T) {
	t.Parallel()
	var woken atomic.Int32
	app := testkit.NewApp(t, func() { woken.Add(1) })
	tenant := testkit.Tenant(t, app, "Acme")
	id := ""
	stored := func() *core.Record {
		record, err := app.FindRecordById("contacts", id)
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
	for _, write := range []struct {
		name string
		do   func() error
	}{
		{"creating", func() error {
			id = testkit.Record(t, app, "contacts", map[string]any{"tenant": tenant, "name": "Ada"}).Id
			return nil
		}},
		{"changing", func() error {
			record := stored()
			record.Set("name", "Ada Lovelace")
			return app.Save(record)
		}},
		{"deleting", func() error { return app.Delete(stored()) }},
	} {
		before := woken.Load()
		if err := write.do(); err != nil {
			t.Fatal(err)
		}
		if woken.Load() == before {
			t.Errorf("%s a record does not wake the workers", write.name)
		}
	}
}

// Merged contacts are announced like others: the one that stays once, with what it got.
func TestMergesAreAnnounced(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	kept, other := b.Add(map[string]any{"name": "Ada"}), b.Add(map[string]any{"name": "A. Lovelace", "company": "Engines"})
	var announced []string
	b.App.OnRecordAfterUpdateSuccess("contacts").BindFunc(func(e *core.RecordEvent) error {
		announced = append(announced, e.Record.Id+" "+e.Record.GetString("company"))
		return e.Next()
	})
	err := b.App.RunInTransaction(func(tx core.App) error {
		_, err := (&contact.Merge{ID: kept.ID, From: []string{other.ID}}).Apply(tx, b.Tenant)
		return err
	})
	if err != nil || !slices.Equal(announced, []string{kept.ID + " Engines"}) {
		t.Errorf("announced is %q (%v)", announced, err)
	}
}

// A hook that fails after the commit changes nothing for the caller, who would write the contact again. That holds
// for the error of an outdated collection, too, after which a write is repeated.
func TestHookFailsAfterTheCommit(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.App.OnRecordAfterCreateSuccess("contacts").BindFunc(func(*core.RecordEvent) error { return errors.New("no such table: elsewhere") })
	if _, err := testkit.Create(b.App, b.Tenant, contact.Changes{"name": "Ada"}); err != nil {
		t.Errorf("creating a contact: %v", err)
	}
	if n, err := b.App.CountRecords("contacts"); err != nil || n != 1 {
		t.Errorf("%d contacts (%v)", n, err)
	}
}

// A record that is saved as it is keeps the time of its change, which callers see. One that is changed where they do
// not look has changed all the same, and nobody is told.
func TestSavingAnUnchangedRecord(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	testkit.AddFields(t, b.App, &core.TextField{Name: "internal", Hidden: true}, &core.DateField{Name: "born"}, &core.JSONField{Name: "meta"},
		&core.SelectField{Name: "tags", Values: []string{"a", "b"}, MaxSelect: 2}, &core.AutodateField{Name: "seen", OnCreate: true})
	id := b.Add(map[string]any{"name": "Ada", "born": "1815-12-10 00:00:00.000Z", "tags": []any{"a", "b"}, "meta": map[string]any{"b": "x", "a": "y"}}).ID
	find := func() *core.Record {
		t.Helper()
		record, err := b.App.FindRecordById("contacts", id)
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
	stale := find()
	save := func(record *core.Record, field, value string) {
		t.Helper()
		record.Set(field, value)
		if err := b.App.Save(record); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		record       *core.Record
		field, value string
		moves        bool
		events       int
	}{
		{find(), "name", " Ada ", false, 1},
		{find(), "internal", "a secret", true, 1},
		{find(), "internal", "a secret", false, 1},
		{find(), "name", "Grace", true, 2},
		{stale, "name", "Ada", true, 3}, // which is what it was read as
	} {
		before := find().GetString("updated")
		save(test.record, test.field, test.value)
		after := find().GetString("updated")
		if moved := after != before; moved != test.moves || test.record.GetString("updated") != after {
			t.Errorf("setting %s to %q moves the time of the change from %s to %s, the record's to %s",
				test.field, test.value, before, after, test.record.GetString("updated"))
		}
		if events, err := b.App.CountRecords("events"); err != nil || events != int64(test.events) {
			t.Errorf("setting %s to %q makes %d events (%v)", test.field, test.value, events, err)
		}
	}
}
