package contact_test

import (
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// A writer writes contacts one way. What it gets is JSON, as the API does.
type writer interface {
	create(contacts ...string) error
	update(externalID, change string) error
	remove(externalID string) error
}

// records writes through PocketBase's records, as the dashboard and the records API do.
type records struct{ *book }

func (w records) create(contacts ...string) error {
	collection, err := w.App.FindCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		return err
	}
	return w.each(contacts, func(app core.App, values string) error {
		record := core.NewRecord(collection)
		record.Set("tenant", w.Tenant)
		record.Load(decode(w.TB, values))
		return app.Save(record)
	})
}

func (w records) update(externalID, change string) error {
	record, err := w.App.FindRecordById(contact.CollectionName, w.id(externalID))
	if err != nil {
		return err
	}
	record.Load(decode(w.TB, change))
	return w.App.Save(record)
}

func (w records) remove(externalID string) error {
	return testkit.Delete(w.App, w.id(externalID))
}

// functions writes as the API does.
type functions struct{ *book }

func (w functions) create(contacts ...string) error {
	return w.each(contacts, func(app core.App, values string) error {
		changes, err := contact.ParseChanges(app, decode(w.TB, values))
		if err == nil {
			_, err = testkit.Create(app, w.Tenant, changes)
		}
		return err
	})
}

func (w functions) update(externalID, change string) error {
	changes, err := contact.ParseChanges(w.App, decode(w.TB, change))
	if err != nil {
		return err
	}
	updated, _, err := testkit.Update(w.App, w.Tenant, w.id(externalID), changes)
	if err != nil {
		return err
	}
	stored, err := contact.Find(w.App, w.Tenant, updated.ID)
	if err != nil {
		return err
	}
	if answer, read := asJSON(w.TB, updated), asJSON(w.TB, stored); answer != read {
		w.TB.Errorf("a change returns\n%s, and the contact is then read as\n%s", answer, read)
	}
	return nil
}

func asJSON(tb testing.TB, c *contact.Contact) string {
	tb.Helper()
	encoded, err := c.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	return string(encoded)
}

// only a batch deletes otherwise
func (w functions) remove(externalID string) error { return records(w).remove(externalID) }

// each writes the contacts, several in a transaction of the caller's.
func (b *book) each(contacts []string, write func(app core.App, values string) error) error {
	if len(contacts) == 1 {
		return write(b.App, contacts[0])
	}
	return b.App.RunInTransaction(func(tx core.App) error {
		for _, values := range contacts {
			if err := write(tx, values); err != nil {
				return err
			}
		}
		return nil
	})
}

// id returns the id of the contact that the script calls so.
func (b *book) id(externalID string) (id string) {
	b.TB.Helper()
	if err := b.App.DB().Select("id").From("contacts").Where(dbx.HashExp{"tenant": b.Tenant, "externalId": externalID}).Row(&id); err != nil {
		b.TB.Fatalf("looking for %s: %v", externalID, err)
	}
	return id
}
