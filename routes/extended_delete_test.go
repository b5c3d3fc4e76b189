package routes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/imports"
	"contactbase/internal/testkit"
)

// doomed is a house in which a contact with a name waits for its deletion.
type doomed struct {
	*house
	id, firm, imported string // firm is a record with which PocketBase deletes the contact; imported made it
}

func newDoomed(t *testing.T, name string, extended bool) *doomed {
	t.Helper()
	h := newHouse(t, false)
	firms := core.NewBaseCollection("firms")
	if err := h.App.Save(firms); err != nil {
		t.Fatal(err)
	}
	testkit.AddFields(t, h.App, &core.RelationField{Name: "firm", CollectionId: firms.Id, MaxSelect: 1, CascadeDelete: true})
	d := &doomed{house: h, firm: testkit.Record(t, h.App, "firms", nil).Id}
	d.imported = h.imported("name,company,email\n"+name+",,doomed@example.com\n", true)
	if err := h.App.DB().NewQuery("SELECT id FROM contacts WHERE email = 'doomed@example.com'").Row(&d.id); err != nil {
		t.Fatal(err)
	}
	testkit.Execute(t, h.App, "UPDATE contacts SET firm = {:firm} WHERE id = {:id}", map[string]any{"firm": d.firm, "id": d.id})
	if extended {
		extend(h.App, testkit.Tenant(t, h.App, "Other"), &h.after)
	}
	return d
}

// undo undoes the import, and returns what it says.
func (d *doomed) undo() string {
	d.t.Helper()
	done := make(chan string)
	go func() { done <- d.page("POST", d.imported+"/undo", "{}") }()
	testkit.Eventually(d.t, "the undo begins", func() bool { return d.admin.Do("GET", d.imported, "").Data()["status"] == "undoing" })
	if err := imports.Work(d.t.Context(), d.App); err != nil {
		d.t.Error(err)
	}
	return <-done
}

// waysToDelete are all ways to delete a contact.
func waysToDelete() map[string]func(d *doomed) string {
	return map[string]func(d *doomed) string{
		"delete": func(d *doomed) string { return d.do("DELETE", contactsPath+"/"+d.id, "") },
		"batch": func(d *doomed) string {
			return d.do("POST", contactsPath+"/batch",
				fmt.Sprintf(`{"items":[{"action":"delete","id":%q},{"action":"create","contact":{"name":"Last"}}]}`, d.id))
		},
		"atomic batch": func(d *doomed) string {
			return d.do("POST", contactsPath+"/batch", fmt.Sprintf(
				`{"atomic":true,"items":[{"action":"create","contact":{"name":"Last"}},{"action":"delete","id":%q}]}`, d.id))
		},
		"inbound": func(d *doomed) string {
			return d.do("POST", "/api/hooks/"+d.inbound, `{"action":"delete","email":"doomed@example.com"}`)
		},
		"inbound array": func(d *doomed) string {
			return d.do("POST", "/api/hooks/"+d.inbound,
				`[{"action":"delete","email":"doomed@example.com"},{"name":"Last","email":"last@example.com"}]`)
		},
		"preview": func(d *doomed) string {
			return string(d.admin.Do("POST", "/api/integrations/inbound/preview", fmt.Sprintf(
				`{"tenant":%q,"access":"full","body":{"action":"delete","email":"doomed@example.com"}}`, d.tenant)).Body)
		},
		"tool": func(d *doomed) string {
			return d.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":
				{"name":"delete_contact","arguments":{"id":%q}}}`, d.id), "Accept", "application/json, text/event-stream")
		},
		"page":    func(d *doomed) string { return d.page("DELETE", "/api/integrations/contacts/"+d.id, "") },
		"undo":    (*doomed).undo,
		"record":  func(d *doomed) string { return d.page("DELETE", "/api/collections/contacts/records/"+d.id, "") },
		"records": func(d *doomed) string { return d.page("DELETE", "/api/collections/contacts/truncate", "") },
		"record that the contact goes with": func(d *doomed) string {
			return d.page("DELETE", "/api/collections/firms/records/"+d.firm, "")
		},
	}
}

// A hook sees deletions through every door. One that changes nothing leaves what there is without it, and one that
// refuses keeps the contact.
func TestHooksSeeEveryDeletion(t *testing.T) {
	t.Parallel()
	for door, remove := range waysToDelete() {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			plain, extended := newDoomed(t, "Doomed", false), newDoomed(t, "Doomed", true)
			want := volatile.ReplaceAllString(remove(plain), "X")
			if got := volatile.ReplaceAllString(remove(extended), "X"); got != want {
				t.Errorf("the answer is\n%s\nwithout the hook it is\n%s", got, want)
			}
			if got, want := extended.state(), plain.state(); got != want {
				t.Errorf("stored is\n%s\nwithout the hook it is\n%s", got, want)
			}
			if isPreview(door) != (extended.after == 0) {
				t.Errorf("%d hooks have run after deletions", extended.after)
			}
		})
		for name, says := range refusals {
			t.Run(door+" "+name, func(t *testing.T) {
				t.Parallel()
				d := newDoomed(t, name, true)
				before := d.state()
				got := remove(d)
				switch {
				case isRecord(door):
					if strings.HasPrefix(got, "20") {
						t.Errorf("the answer is %s", got)
					}
				case door == "undo":
					says = `"deleted":0,"kept":1`
					fallthrough
				default:
					if !strings.Contains(got, says) {
						t.Errorf("the answer is %s", got)
					}
				}
				after := d.state()
				if items := door == "batch" || door == "inbound array"; items != strings.Contains(after, "Last") {
					t.Errorf("after a refused item, stored is %s", after)
				} else if !items && after != before {
					t.Errorf("the refused deletion has left %s\nof %s", after, before)
				}
				if !strings.Contains(after, "doomed@example.com") {
					t.Error("the contact is gone")
				}
			})
		}
	}
}
