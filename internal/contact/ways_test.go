package contact_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/core/validators"

	"contactbase/internal/contact"
	"contactbase/internal/extension"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// However a contact is written, the effects are the same: rows, events, deliveries, and what hooks receive. One
// script runs through the records, as in the dashboard, and through plans, of one item and of many; with the shipped
// fields, and with an admin's.
func TestAllWaysOfWritingDoTheSame(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		t.Run(map[bool]string{false: "shipped fields", true: "an admin's fields"}[own], func(t *testing.T) {
			t.Parallel()
			want := runScript(t, own, func(b *book) writer { return records{b} })
			for name, way := range map[string]func(b *book) writer{
				"functions": func(b *book) writer { return functions{b} },
				"upserts":   func(b *book) writer { return upserts{functions{b}} },
				"items":     func(b *book) writer { return items{functions{b}} },

				"functions with a hook": func(b *book) writer { return b.extend(functions{b}) },
				"upserts with a hook":   func(b *book) writer { return b.extend(upserts{functions{b}}) },
				"items with a hook":     func(b *book) writer { return b.extend(items{functions{b}}) },
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					got := runScript(t, own, way)
					isHooked := strings.HasSuffix(name, "a hook")
					for i, step := range script(own) {
						expected := want[i]
						expected.hooks = slices.DeleteFunc(slices.Clone(expected.hooks), func(h told) bool {
							isPlanned := step.early || !isHooked || expected.refused != "done" // by the plan, which meets no hook
							return !step.tells(h.hook) && isPlanned
						})
						if got, want := got[i].lines(), expected.lines(); !slices.Equal(got, want) {
							t.Errorf("%s:\n%s\nbut through the record:\n%s", step.name, without(got, want), without(want, got))
						}
					}
				})
			}
		})
	}
}

// extend binds a hook of an extension that changes nothing, so that every write goes through a record.
func (b *book) extend(w writer) writer {
	extension.Record(b.App).OnRecordCreate("contacts").BindFunc(func(e *core.RecordEvent) error { return e.Next() })
	return w
}

// step is a write of the script.
type step struct {
	name string
	do   func(w writer) error

	// early marks what the functions refuse, or find to change nothing, before they come to the record.
	early bool
}

// tells reports whether the functions call a hook about the step's record: none before the commit.
func (s step) tells(name string) bool {
	if strings.Contains(name, "Delete") { // which always goes through the record
		return true
	}
	return !s.early && strings.HasSuffix(name, "Success")
}

// The contacts of the script are called by their external ids.
func script(own bool) []step {
	steps := []step{
		{name: "a contact", do: create(`{"externalId":"ada","name":" Ada  Lovelace ","email":"Ada@Example.com","phone":"+44 (20) 7946-0958"}`)},
		{name: "two contacts", do: create(`{"externalId":"zoe","name":"Zoë","company":"Engines"}`, `{"externalId":"grace","email":"Grace@Example.com"}`)},
		{name: "a change", do: update("ada", `{"company":"Engines","phone":null}`)},
		{name: "a change of case", do: update("ada", `{"email":"ada@example.com"}`)},
		{name: "a change of nothing", do: update("ada", `{"name":" Ada  Lovelace","company":"Engines"}`), early: true},
		{name: "an empty change", do: update("ada", `{}`), early: true},
		{name: "a contact without a name", do: create(`{"company":"Engines"}`), early: true},
		{name: "a change that leaves no name", do: update("grace", `{"email":""}`), early: true},
		{name: "an invalid contact", do: create(`{"name":"Mary","phone":"030","email":"mary"}`), early: true},
		{name: "an invalid change", do: update("ada", `{"phone":"030"}`), early: true},
		{name: "a contact with a taken external id", do: create(`{"name":"Mary","externalId":"ada"}`), early: true},
		{name: "a change to a taken external id", do: update("zoe", `{"externalId":"ada"}`), early: true},
		{name: "a change that a unique index allows", do: update("ada", `{"phone":"+49301234"}`)},
		{name: "a contact that a unique index forbids", do: create(`{"name":"Mary","phone":"+49301234"}`)},
		{name: "a change that a unique index forbids", do: update("zoe", `{"phone":"+49301234"}`)},
		{name: "another external id", do: update("zoe", `{"externalId":"zoë"}`)},
		{name: "the former external id", do: update("zoë", `{"externalId":"zoe"}`)},
	}
	if own {
		steps = append(steps,
			step{name: "a contact with an admin's field", do: create(`{"externalId":"mary","name":"Mary","note":"tall"}`)},
			step{name: "a change of an admin's field", do: update("ada", `{"note":"short"}`)},
			step{name: "no change of an admin's field", do: update("ada", `{"note":"short"}`), early: true},
			step{name: "an invalid value of an admin's field", do: update("ada", `{"note":"`+strings.Repeat("long ", 20)+`"}`), early: true},
			step{name: "a relation to nobody", do: update("ada", `{"boss":"nobody000000000"}`), early: true},
			step{name: "a relation to another tenant", do: update("ada", `{"boss":"stranger0000000"}`), early: true},
			step{name: "an admin's field without a value", do: update("ada", `{"note":null}`)},
		)
	}
	return append(steps,
		step{name: "a deletion that a relation forbids", do: remove("grace")},
		step{name: "a deletion that a relation allows", do: remove("zoe")},
		step{name: "a deletion", do: remove("ada")},
	)
}

func create(contacts ...string) func(writer) error {
	return func(w writer) error { return w.create(contacts...) }
}

func update(externalID, change string) func(writer) error {
	return func(w writer) error { return w.update(externalID, change) }
}

func remove(externalID string) func(writer) error {
	return func(w writer) error { return w.remove(externalID) }
}

// outcome is all that comes of a step.
type outcome struct {
	refused string
	hooks   []told
	state   []string
}

func (o outcome) lines() []string {
	lines := []string{"outcome: " + o.refused}
	for _, h := range o.hooks {
		lines = append(lines, h.hook+": "+h.what)
	}
	return append(lines, o.state...)
}

// without returns the lines that are not among the others, and all of them where only their order differs.
func without(lines, others []string) string {
	left := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
	if len(left) == 0 {
		left = lines
	}
	return "\t" + strings.Join(left, "\n\t")
}

// runScript returns what comes of each step.
func runScript(t *testing.T, own bool, way func(*book) writer) []outcome {
	t.Helper()
	b := newBook(t)
	b.furnish(own)
	var hooks []told
	b.listen(&hooks)
	seen := &seen{book: b, contacts: map[string]dbx.NullStringMap{}}
	seen.look() // what was there before
	var outcomes []outcome
	for _, step := range script(own) {
		hooks = nil
		refused := refusal(t, step.do(way(b)))
		outcomes = append(outcomes, outcome{refused, hooks, seen.look()})
	}
	return outcomes
}

// furnish adds what the script meets: webhooks, an index and relations of an admin's, and with own their fields.
func (b *book) furnish(own bool) {
	b.TB.Helper()
	for name, values := range map[string]map[string]any{
		"all":      {},
		"changes":  {"events": []string{"contact.updated"}},
		"disabled": {"disabled": true},
	} {
		values["tenant"], values["name"], values["url"] = b.Tenant, name, "https://example.com"
		testkit.Record(b.TB, b.App, "webhooks", values)
	}
	collection, err := b.App.FindCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		b.TB.Fatal(err)
	}
	collection.AddIndex("own", true, "`tenant`, `phone`", "`phone` != ''")
	if own {
		collection.Fields.Add(&core.TextField{Name: "note", Max: 50}, &core.TextField{Name: "internal", Hidden: true})
		collection.Fields.Add(&core.RelationField{Name: "boss", CollectionId: collection.Id, MaxSelect: 1})
	}
	deals := core.NewBaseCollection("deals")
	deals.Fields.Add(
		&core.RelationField{Name: "owner", CollectionId: collection.Id, MaxSelect: 1},
		&core.RelationField{Name: "signer", CollectionId: collection.Id, MaxSelect: 1, CascadeDelete: true},
		&core.RelationField{Name: "partners", CollectionId: collection.Id, MaxSelect: 9, Required: true},
	)
	for _, changed := range []*core.Collection{collection, deals} {
		if err := b.App.Save(changed); err != nil {
			b.TB.Fatal(err)
		}
	}
	testkit.Record(b.TB, b.App, "contacts", map[string]any{"id": "stranger0000000", "tenant": b.Other().Tenant, "name": "Stranger"})
	b.App.OnRecordAfterCreateSuccess("contacts").BindFunc(func(e *core.RecordEvent) error {
		switch id := e.Record.Id; e.Record.GetString("externalId") {
		case "grace":
			testkit.Record(b.TB, b.App, "deals", map[string]any{"partners": id})
		case "zoe":
			testkit.Record(b.TB, b.App, "deals", map[string]any{"owner": id, "partners": "stranger0000000"})
			testkit.Record(b.TB, b.App, "deals", map[string]any{"signer": id, "partners": "stranger0000000"})
		}
		return e.Next()
	})
}

// refusal returns what is at fault, in the words that all ways share.
func refusal(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return "done"
	}
	var used *fault.Error
	if errors.As(err, &used) && used.Code == fault.InUse {
		return used.Message
	}
	if used != nil {
		err = used.Fields
	}
	var faults fault.Fields
	var verdict validation.Errors
	var names []string
	switch err = validators.NormalizeUniqueIndexError(err, contact.CollectionName, []string{"tenant", "externalId", "phone"}); {
	case errors.As(err, &faults):
		names = slices.Sorted(maps.Keys(faults))
	case errors.As(err, &verdict):
		delete(verdict, "tenant") // stands in the index beside what is at fault
		names = slices.Sorted(maps.Keys(verdict))
	default:
		t.Errorf("no refusal: %v", err)
	}
	return fmt.Sprint("at fault is ", names)
}
