package testkit

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/contact"
)

// ChangeContacts changes the collection of contacts, like an admin in the dashboard.
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

// AddFields adds custom fields to contacts.
func AddFields(tb testing.TB, app core.App, fields ...core.Field) {
	tb.Helper()
	ChangeContacts(tb, app, func(contacts *core.Collection) { contacts.Fields.Add(fields...) })
}

// AddRelated adds a collection with one relation to the target.
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

// The ids of the records for the relations that AddEveryKind adds.
const (
	RelatedID       = "aaaaaaaaaaaaaaa"
	SecondRelatedID = "bbbbbbbbbbbbbbb"
)

// AddEveryKind adds a custom field of every kind to contacts.
func AddEveryKind(tb testing.TB, app core.App) {
	tb.Helper()
	groups := core.NewBaseCollection("groups")
	groups.Fields.Add(&core.TextField{Name: "title"})
	if err := app.Save(groups); err != nil {
		tb.Fatal(err)
	}
	Record(tb, app, "groups", map[string]any{"id": RelatedID, "title": "A"})
	Record(tb, app, "groups", map[string]any{"id": SecondRelatedID, "title": "B"})
	AddFields(tb, app,
		&core.TextField{Name: "note", Max: 10},
		&core.EditorField{Name: "bio"},
		&core.EmailField{Name: "second"},
		&core.URLField{Name: "site"},
		&core.NumberField{Name: "score"},
		&core.NumberField{Name: "age", OnlyInt: true, Max: types.Pointer(150.0)},
		&core.BoolField{Name: "vip"},
		&core.DateField{Name: "born"},
		&core.AutodateField{Name: "seen", OnCreate: true},
		&core.SelectField{Name: "size", Values: []string{"S", "M"}, MaxSelect: 1},
		&core.SelectField{Name: "tags", Values: []string{"a", "b", "c"}, MaxSelect: 2},
		&core.RelationField{Name: "group", CollectionId: groups.Id, MaxSelect: 1},
		&core.RelationField{Name: "groups", CollectionId: groups.Id, MaxSelect: 5},
		&core.FileField{Name: "photo", MaxSelect: 1},
		&core.FileField{Name: "papers", MaxSelect: 3},
		&core.JSONField{Name: "meta"},
		&core.GeoPointField{Name: "place"},
		&core.TextField{Name: "internal", Hidden: true},
		&core.PasswordField{Name: "pin", Hidden: true},
	)
}
