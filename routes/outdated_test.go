package routes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// An admin's change of fields applies immediately in other processes, although PocketBase notifies them later.
func TestFieldsThatAnotherProcessChanged(t *testing.T) {
	t.Parallel()
	text := func(name string) *core.TextField { return &core.TextField{Id: "text_" + name, Name: name} }
	for name, tc := range map[string]struct {
		before core.Field
		change func(*core.FieldsList)
		gone   string // the name of a deleted field
		here   string // the name of a new field
	}{
		"renamed": {text("note"), func(fields *core.FieldsList) { fields.GetByName("note").SetName("remark") }, "note", "remark"},
		"removed": {text("note"), func(fields *core.FieldsList) { fields.RemoveByName("note") }, "note", ""},
		"added":   {nil, func(fields *core.FieldsList) { fields.Add(text("remark")) }, "", "remark"},
		"swapped": {text("note"), func(fields *core.FieldsList) { fields.RemoveByName("note"); fields.Add(text("remark")) }, "note", "remark"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f := newAPI(t)
			change := func(apply func(*core.FieldsList)) {
				t.Helper()
				collection, err := f.App.FindCollectionByNameOrId("contacts")
				if err != nil {
					t.Fatal(err)
				}
				apply(&collection.Fields)
				if err := f.App.Save(collection); err != nil {
					t.Fatal(err)
				}
			}
			if tc.before != nil {
				change(func(fields *core.FieldsList) { fields.Add(tc.before) })
			}
			second := testkit.Reopen(t, f.App)
			client := testkit.NewClient(t, testkit.Serve(t, second), testkit.Key(t, f.App, f.tenant))
			hook := &sender{testkit.NewClient(t, client.Base, ""), t, "/api/hooks/" + testkit.Inbound(t, f.App, f.tenant, "full", nil)}
			path := client.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com"}`).Location()
			// PocketBase notifies other processes through it: the second one is not notified
			if err := os.RemoveAll(filepath.Join(f.App.DataDir(), core.LocalNotifyDirName)); err != nil {
				t.Fatal(err)
			}
			change(tc.change)
			expect := func(status int, method, path, body string) *testkit.Answer {
				t.Helper()
				got := client.Do(method, path, body)
				if got.Status != status {
					t.Errorf("%s %s %s gives %d %s", method, path, body, got.Status, got.Body)
				}
				if method != "GET" || status != 200 {
					return got
				}
				if shown := string(got.Body); tc.gone != "" && strings.Contains(shown, `"`+tc.gone+`"`) {
					t.Errorf("%s shows %s", path, shown)
				}
				return got
			}
			for _, query := range []string{"", "?q=ada", "?email=ada@example.com", "?sort=name"} {
				got := expect(200, "GET", contactsPath+query, "")
				if data, _ := got.JSON()["data"].([]any); len(data) != 1 {
					t.Errorf("%q lists %s", query, got.Body)
				}
			}
			expect(200, "GET", path, "")
			expect(201, "POST", contactsPath, `{"name":"New"}`)
			expect(200, "PATCH", path, `{"company":"Engines"}`)
			if tc.here != "" {
				created := expect(201, "POST", contactsPath, `{"name":"New","`+tc.here+`":"first"}`)
				changed := expect(200, "PATCH", path, `{"`+tc.here+`":"second"}`)
				if created.Data()[tc.here] != "first" || changed.Data()[tc.here] != "second" {
					t.Errorf("%s is lost: %s, %s", tc.here, created.Body, changed.Body)
				}
			}
			batch := func(field string) *testkit.Answer {
				t.Helper()
				return expect(200, "POST", contactsPath+"/batch",
					`{"items":[{"action":"create","contact":{"name":"New","`+field+`":"x"}}]}`)
			}
			if tc.here != "" {
				if got := batch(tc.here); got.Data()["created"] != 1.0 {
					t.Errorf("a batch gives %s", got.Body)
				}
			}
			if tc.gone != "" {
				if got := batch(tc.gone); got.Data()["failed"] != 1.0 || !strings.Contains(string(got.Body), "unknown_field") {
					t.Errorf("a batch gives %s", got.Body)
				}
				for method, target := range map[string]string{"POST": contactsPath, "PATCH": path} {
					if got := expect(400, method, target, `{"name":"New","`+tc.gone+`":"x"}`); got.FieldCode(tc.gone) != "unknown_field" {
						t.Errorf("%s gives %s", method, got.Body)
					}
				}
			}
			hook.expect("updated:1", `{"email":"ada@example.com","company":"Mills"}`)
			hook.expect("deleted:1", `{"email":"ada@example.com","action":"delete"}`)
		})
	}
}
