package testkit

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
)

// ChangeContacts changes the collection of contacts, as an admin does in the dashboard.
func ChangeContacts(tb testing.TB, app core.App, change func(contacts *core.Collection)) {
	tb.Helper()
	contacts, err := app.FindCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		tb.Fatal(err)
	}
	change(contacts)
	if err := app.Save(contacts); err != nil {
		tb.Fatalf("changing the contacts: %v", err)
	}
}

// AddFields adds fields of an admin's own to the contacts.
func AddFields(tb testing.TB, app core.App, fields ...core.Field) {
	tb.Helper()
	ChangeContacts(tb, app, func(contacts *core.Collection) { contacts.Fields.Add(fields...) })
}

// AddRelated adds a collection of an admin's own with one relation to the target.
func AddRelated(tb testing.TB, app core.App, name, target string, relation core.RelationField) {
	tb.Helper()
	related, err := app.FindCollectionByNameOrId(target)
	if err != nil {
		tb.Fatal(err)
	}
	relation.CollectionId = related.Id
	collection := core.NewBaseCollection(name)
	collection.Fields.Add(&relation)
	if err := app.Save(collection); err != nil {
		tb.Fatalf("adding the collection %s: %v", name, err)
	}
}
