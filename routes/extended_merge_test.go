package routes_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/extension"
	"contactbase/internal/testkit"
)

// family is a house in which two contacts and a deal relate to the second contact, which is merged into the first.
type family struct {
	*house
	third, deal string
}

func newFamily(t *testing.T, name string, extended bool) *family {
	t.Helper()
	h := newHouse(t, false)
	testkit.AddRelated(t, h.App, "deals", "contacts", core.RelationField{Name: "buyer", MaxSelect: 1})
	testkit.ChangeContacts(t, h.App, func(contacts *core.Collection) {
		contacts.Fields.Add(&core.RelationField{Name: "partner", CollectionId: contacts.Id, MaxSelect: 1, CascadeDelete: true})
		contacts.Fields.Add(&core.RelationField{Name: "friends", CollectionId: contacts.Id, MaxSelect: 5})
	})
	f := &family{house: h}
	write := func(method, path, body string) {
		if got := h.do(method, path, body); !strings.HasPrefix(got, "20") {
			t.Fatal(got)
		}
	}
	f.third = create(t, testkit.NewClient(t, h.base, testkit.Key(t, h.App, h.tenant)), fmt.Sprintf(`{"name":%q,"partner":%q}`, name, h.second))
	write("PATCH", contactsPath+"/"+h.id, fmt.Sprintf(`{"friends":[%q],"partner":%q}`, h.second, h.second))
	write("PATCH", contactsPath+"/"+h.second, fmt.Sprintf(`{"partner":%q}`, h.id))
	f.deal = testkit.Record(t, h.App, "deals", map[string]any{"buyer": h.second}).Id
	if extended {
		extend(h.App, testkit.Tenant(t, h.App, "Other"), &h.after)
	}
	return f
}

func (f *family) merge(more string) string {
	return f.do("POST", mergePath(f.id), fmt.Sprintf(`{"from":[%q]%s}`, f.second, more))
}

// relations returns where the relations of all records lead.
func (f *family) relations() string {
	f.t.Helper()
	var all strings.Builder
	for _, found := range []struct{ collection, id string }{{"contacts", f.id}, {"contacts", f.second}, {"contacts", f.third}, {"deals", f.deal}} {
		record, err := f.App.FindRecordById(found.collection, found.id)
		if err != nil {
			continue // merged
		}
		for _, field := range []string{"name", "company", "partner", "friends", "buyer"} {
			fmt.Fprintf(&all, "%s=%s ", field, strings.Join(record.GetStringSlice(field), ","))
		}
		fmt.Fprintln(&all)
	}
	return strings.NewReplacer(f.id, "first", f.second, "second", f.third, "third").Replace(all.String())
}

// updatedTimes returns how many contacts have changed since they were created.
func (f *family) updatedTimes() int {
	return testkit.Count(f.t, f.App, "SELECT count(*) FROM contacts c WHERE updated = (SELECT max(json_extract(payload, '$.data.updatedAt')) FROM events "+
		"WHERE contact = c.id) OR updated = (SELECT replace(max(json_extract(payload, '$.data.updatedAt')), 'T', ' ') FROM events WHERE contact = c.id)", nil)
}

// A hook that refuses contacts cannot keep the data of a deleted tenant.
func TestTenantsAreDeletedDespiteHooks(t *testing.T) {
	t.Parallel()
	for name := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, name, true)
			if got := f.page("DELETE", "/api/collections/tenants/records/"+f.tenant, ""); !strings.HasPrefix(got, "204") {
				t.Fatal(got)
			}
			testkit.Sweep(t, f.App)
			if left := testkit.Count(t, f.App, "SELECT count(*) FROM contacts WHERE tenant = '"+f.tenant+"'", nil); left != 0 {
				t.Errorf("%d contacts are left", left)
			}
		})
	}
}

// Hooks see the contacts whose relations a merge moves, too, and change nothing else about it.
func TestHooksSeeMovedRelations(t *testing.T) {
	t.Parallel()
	plain, extended := newFamily(t, "Third", false), newFamily(t, "Third", true)
	want, got := volatile.ReplaceAllString(plain.merge(""), "X"), volatile.ReplaceAllString(extended.merge(""), "X")
	if got != want || !strings.HasPrefix(got, "200") {
		t.Errorf("the answer is\n%s\nwithout the hook it is\n%s", got, want)
	}
	if got, want := extended.state(), plain.state(); got != want {
		t.Errorf("stored is\n%s\nwithout the hook it is\n%s", got, want)
	}
	if got, want := extended.relations(), plain.relations(); got != want {
		t.Errorf("the relations are\n%s\nwithout the hook they are\n%s", got, want)
	}
	if got, want := extended.updatedTimes(), plain.updatedTimes(); got != want || got == 0 {
		t.Errorf("%d contacts have the time of their last event, %d without the hook", got, want)
	}

	changed := newFamily(t, changedName, true)
	if got := changed.merge(""); !strings.HasPrefix(got, "200") {
		t.Errorf("the merge answers %s", got)
	}
	if got := changed.relations(); !strings.Contains(got, "name=Ada company=Engines partner=first") {
		t.Errorf("after a hook that changes them, the relations are\n%s", got)
	}
	if n := testkit.Count(t, changed.App, "SELECT count(*) FROM events WHERE type = 'contact.updated' AND contact = '"+changed.third+
		"' AND payload LIKE '%Engines%'", nil); n != 1 {
		t.Errorf("%d events have what the hook made of the contact", n)
	}
}

// A hook that refuses a contact or another record whose relation a merge would move refuses the merge, and nothing is
// written.
func TestHooksRefuseMovedRelations(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		invalidName: `409 {"error":{"code":"in_use"`, vagueName: `409 {"error":{"code":"in_use"`, rejectedName: `418 {"error":{"code":"rejected"`,
		failingName: `500 {"error":{"code":"internal_error"`, panickyName: `500 {"error":{"code":"internal_error"`,
		movedName: `500 {"error":{"code":"internal_error"`, lateName: `500 {"error":{"code":"internal_error"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, name, true)
			before := f.state() + f.relations()
			for _, more := range []string{"", `,"dryRun":true`} {
				if got := f.merge(more); !strings.HasPrefix(got, want) || strings.Contains(got, "bug") {
					t.Errorf("the merge answers %s", got)
				}
			}
			if after := f.state() + f.relations(); after != before {
				t.Errorf("the refused merge has left\n%s\nof\n%s", after, before)
			}
		})
	}
	for want, err := range map[string]error{
		`409 {"error":{"code":"in_use"`:         validation.Errors{"buyer": validation.NewError("bad", "is bad")},
		`418 {"error":{"code":"rejected"`:       router.NewApiError(http.StatusTeapot, "short and stout", nil),
		`500 {"error":{"code":"internal_error"`: errors.New("a bug of the hook"),
	} {
		t.Run("deals "+want, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, "Third", false)
			extension.Record(f.App).OnRecordUpdate("deals").BindFunc(func(*core.RecordEvent) error { return err })
			before := f.state() + f.relations()
			if got := f.merge(""); !strings.HasPrefix(got, want) || strings.Contains(got, "bug") {
				t.Errorf("the merge answers %s", got)
			}
			if after := f.state() + f.relations(); after != before {
				t.Errorf("the refused merge has left\n%s\nof\n%s", after, before)
			}
		})
	}
}
