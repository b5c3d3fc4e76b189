package contact_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/extension"
	"contactbase/internal/testkit"
)

// A hook of an extension for another collection, or after writes, costs contacts no statement. One before writes of
// contacts costs some.
func TestStatementsWithHooks(t *testing.T) {
	t.Parallel()
	run := func(bind func(app core.App)) (statements []string) {
		var mu sync.Mutex
		isWritten := false
		app := testkit.NewAppOn(t, testkit.ConnectRecording(func(text string) {
			mu.Lock()
			defer mu.Unlock()
			if isWritten {
				statements = append(statements, text)
			}
		}))
		bind(extension.Record(app))
		b := &book{testkit.Book{TB: t, App: app, Tenant: testkit.Tenant(t, app, "Acme")}}
		mu.Lock()
		isWritten = true
		mu.Unlock()
		c, err := b.create(map[string]any{"name": "Ada"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.update(c.ID, map[string]any{"name": "Ada King"}); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(statements)
		return slices.Compact(statements)
	}
	next := func(e *core.RecordEvent) error { return e.Next() }
	plain := run(func(core.App) {})
	others := run(func(app core.App) {
		app.OnRecordCreate("orders").BindFunc(next)
		app.OnRecordAfterCreateSuccess("contacts").BindFunc(next)
		app.OnModelValidate("orders").BindFunc(func(e *core.ModelEvent) error { return e.Next() })
	})
	if !slices.Equal(others, plain) {
		t.Errorf("with hooks of other collections, the statements are\n%s\ninstead of\n%s", strings.Join(others, "\n"), strings.Join(plain, "\n"))
	}
	for name, bind := range map[string]func(app core.App){
		"by name": func(app core.App) { app.OnRecordUpdate("contacts").BindFunc(next) },
		"by id": func(app core.App) {
			contacts, err := app.FindCollectionByNameOrId("contacts")
			if err != nil {
				t.Fatal(err)
			}
			app.OnRecordDeleteExecute(contacts.Id).BindFunc(next)
		},
		"of all records": func(app core.App) { app.OnRecordValidate().BindFunc(next) },
		"of models": func(app core.App) {
			app.OnModelCreateExecute("contacts").BindFunc(func(e *core.ModelEvent) error { return e.Next() })
		},
	} {
		// PocketBase checks a record's relations
		if bound := run(bind); !slices.ContainsFunc(bound, func(text string) bool { return strings.HasPrefix(text, "SELECT count(*) FROM `tenants`") }) {
			t.Errorf("with a hook %s, contacts are written by\n%s", name, strings.Join(bound, "\n"))
		}
	}
}

// A check with a hook knows what earlier rows would have made, in the form that the hook gives it.
func TestDryRunWithAHook(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	stored := b.Add(map[string]any{"name": "Old", "externalId": "old"})
	var seen []string
	extension.Record(b.App).OnRecordValidate("contacts").BindFunc(func(e *core.RecordEvent) error {
		e.Record.Set("company", "Company of "+e.Record.GetString("name"))
		seen = append(seen, e.Record.Original().GetString("name")+" → "+e.Record.GetString("name"))
		return e.Next()
	})
	run, err := contact.NewDryRun(b.App, b.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	var companies []string
	for _, row := range [][2]string{{"new", "Ada"}, {"new", "Ada King"}, {"old", "Older"}, {"old", "Oldest"}} {
		results, err := run.Plan(t.Context(), []contact.Item{{
			Action: contact.Upsert, Keys: []contact.Key{{Field: contact.ExternalID, Value: row[0]}},
			Changes: b.Changes(map[string]any{"externalId": row[0], "name": row[1]}),
		}})
		if err != nil || results[0].Wrong != nil {
			t.Fatalf("%v: %v, %v", row, results, err)
		}
		companies = append(companies, string(results[0].Status)+" "+results[0].Contact.Company)
	}
	if got, want := strings.Join(companies, ", "), "created Company of Ada, updated Company of Ada King, "+
		"updated Company of Older, updated Company of Oldest"; got != want {
		t.Errorf("the check finds %s", got)
	}
	if got, want := strings.Join(seen, ", "), " → Ada, Ada → Ada King, Old → Older, Older → Oldest"; got != want {
		t.Errorf("the hook sees %s", got)
	}
	if all := b.List(""); len(all) != 1 || all[0].Name != stored.Name || all[0].Company != "" {
		t.Errorf("the check has written %v", all)
	}
}

func BenchmarkHooks(b *testing.B) {
	for _, bound := range []bool{false, true} {
		b.Run(map[bool]string{false: "without", true: "with"}[bound], func(b *testing.B) {
			book := testkit.NewBook(b)
			if bound {
				extension.Record(book.App).OnRecordCreate("contacts").BindFunc(func(e *core.RecordEvent) error { return e.Next() })
			}
			changes := book.Changes(map[string]any{"name": "Ada", "email": "ada@example.com"})
			for b.Loop() {
				if _, err := testkit.Create(book.App, book.Tenant, changes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
