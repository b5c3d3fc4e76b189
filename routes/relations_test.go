package routes_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// The relations of these tests, and whether each is a list. All lead to rows that belong to tenants.
var tenantRelations = map[string]bool{"manager": false, "friends": true, "hook": false, "office": false, "clubs": true, "home": false}

// nobody is an id that no row has.
const nobody = "nobodynobodynob"

// neighbours are two tenants of an installation whose admin has added relations to contacts.
type neighbours struct {
	*fixture
	admin *testkit.Client
	api   *testkit.Client   // of the second tenant
	hooks *sender           // of the second tenant
	other string            // the second tenant
	own   map[string]string // by relation, a row of the second tenant
	alien map[string]string // by relation, a row of the first tenant
}

func newNeighbours(t *testing.T) *neighbours {
	t.Helper()
	_, f := newAPI(t)
	n := &neighbours{fixture: f, admin: newAdmin(t, f), other: testkit.Tenant(t, f.App, "Other")}
	n.api = testkit.NewClient(t, f.base, testkit.Key(t, f.App, n.other))
	n.hooks = &sender{testkit.NewClient(t, f.base, ""), t, "/api/hooks/" + testkit.Inbound(t, f.App, n.other, "full", nil)}

	collection := func(name string) *core.Collection {
		found, err := f.App.FindCollectionByNameOrId(name)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	save := func(c *core.Collection) {
		if err := f.App.Save(c); err != nil {
			t.Fatal(err)
		}
	}
	tenants, contacts := collection("tenants").Id, collection("contacts")
	offices, clubs := core.NewBaseCollection("offices"), core.NewBaseCollection("clubs")
	offices.Fields.Add(&core.RelationField{Name: "customer", CollectionId: tenants, MaxSelect: 1})
	clubs.Fields.Add(&core.RelationField{Name: "members", CollectionId: tenants, MaxSelect: 9})
	save(offices)
	save(clubs)
	contacts.Fields.Add(
		&core.TextField{Name: "note", Max: 3},
		&core.RelationField{Name: "manager", CollectionId: contacts.Id, MaxSelect: 1, CascadeDelete: true},
		&core.RelationField{Name: "friends", CollectionId: contacts.Id, MaxSelect: 5},
		&core.RelationField{Name: "hook", CollectionId: collection("webhooks").Id, MaxSelect: 1},
		&core.RelationField{Name: "office", CollectionId: offices.Id, MaxSelect: 1},
		&core.RelationField{Name: "clubs", CollectionId: clubs.Id, MaxSelect: 5},
		&core.RelationField{Name: "home", CollectionId: tenants, MaxSelect: 1},
	)
	save(contacts)
	n.alien, n.own = n.rows(t, n.tenant), n.rows(t, n.other)
	return n
}

// rows creates a row of the tenant for each relation.
func (n *neighbours) rows(t *testing.T, tenantID string) map[string]string {
	t.Helper()
	related := testkit.Record(t, n.App, "contacts", map[string]any{"tenant": tenantID, "name": "Related"}).Id
	return map[string]string{
		"manager": related, "friends": related, "home": tenantID,
		"hook":   testkit.Webhook(t, n.App, tenantID, "https://example.com/hook", ""),
		"office": testkit.Record(t, n.App, "offices", map[string]any{"customer": tenantID}).Id,
		"clubs":  testkit.Record(t, n.App, "clubs", map[string]any{"members": []string{tenantID}}).Id,
	}
}

// doors are the ways to set a value of the second tenant's contact.
func (n *neighbours) doors(t *testing.T) map[string]func(field, value string) *testkit.Answer {
	t.Helper()
	if got := n.admin.Do("PATCH", "/api/settings", `{"batch":{"enabled":true,"maxRequests":10,"timeout":3}}`); got.Status != 200 {
		t.Fatalf("enabling batches gives %d %s", got.Status, got.Body)
	}
	id := testkit.Record(t, n.App, "contacts", map[string]any{"tenant": n.other, "name": "Ada", "externalId": "ada"}).Id
	const records = "/api/collections/contacts/records"
	return map[string]func(field, value string) *testkit.Answer{
		"POST": func(f, v string) *testkit.Answer {
			return n.api.Do("POST", contactsPath, `{"name":"New","`+f+`":`+v+`}`)
		},
		"PATCH": func(f, v string) *testkit.Answer { return n.api.Do("PATCH", contactsPath+"/"+id, `{"`+f+`":`+v+`}`) },
		"inbound": func(f, v string) *testkit.Answer {
			return n.hooks.Do("POST", n.hooks.path, `{"externalId":"ada","`+f+`":`+strings.Trim(v, "[]")+`}`)
		},
		"records API, create": func(f, v string) *testkit.Answer {
			return n.admin.Do("POST", records, `{"tenant":"`+n.other+`","name":"New","`+f+`":`+v+`}`)
		},
		"records API, update": func(f, v string) *testkit.Answer { return n.admin.Do("PATCH", records+"/"+id, `{"`+f+`":`+v+`}`) },
		"records API, with another fault": func(f, v string) *testkit.Answer {
			answer := n.admin.Do("PATCH", records+"/"+id, `{"note":"too long","`+f+`":`+v+`}`)
			if !strings.Contains(string(answer.Body), `"note"`) {
				t.Errorf("%s takes away the other fault: %s", f, answer.Body)
			}
			if !strings.Contains(string(answer.Body), `"`+f+`"`) {
				answer.Status = 200 // only the other error is left
			}
			return answer
		},
		"batch": func(f, v string) *testkit.Answer {
			return n.admin.Do("POST", "/api/batch", `{"requests":[{"method":"PATCH","url":"`+records+"/"+id+`","body":{"`+f+`":`+v+`}}]}`)
		},
	}
}

var requestIDPattern = regexp.MustCompile(`"requestId":"[^"]*"`)

func TestRelationsKeepToTheTenant(t *testing.T) {
	t.Parallel()
	n := newNeighbours(t)
	for door, set := range n.doors(t) {
		for field, list := range tenantRelations {
			value := func(ids ...string) string {
				if list {
					return `["` + strings.Join(ids, `","`) + `"]`
				}
				return `"` + ids[len(ids)-1] + `"`
			}
			if got := set(field, value(n.own[field])); got.Status > 201 {
				t.Errorf("%s: a row of the own tenant for %s gives %d %s", door, field, got.Status, got.Body)
			}
			alien, none := set(field, value(n.alien[field])), set(field, value(nobody))
			alienBody, noBody := requestIDPattern.ReplaceAllString(string(alien.Body), ""), requestIDPattern.ReplaceAllString(string(none.Body), "")
			if none.Status != 400 || alien.Status != none.Status || alienBody != noBody {
				t.Errorf("%s: another tenant's row for %s gives %d %s, nobody's %d %s", door, field, alien.Status, alien.Body, none.Status, none.Body)
			}
			if !list || door == "inbound" {
				continue
			}
			if got := set(field, value(n.own[field], n.alien[field])); got.Status != 400 {
				t.Errorf("%s: a list with one of another tenant's rows for %s gives %d %s", door, field, got.Status, got.Body)
			}
		}
	}
	if got := n.api.Do("POST", contactsPath, `{"name":"New","manager":"`+n.alien["manager"]+`"}`); got.Code() != "validation_failed" || got.FieldCode("manager") != "invalid_type" {
		t.Errorf("another tenant's contact gives %d %s", got.Status, got.Body)
	}
}

// Without links between them, deleting one tenant changes nothing of the other's.
func TestDeletionKeepsToTheTenant(t *testing.T) {
	t.Parallel()
	n := newNeighbours(t)
	for _, set := range n.doors(t) {
		set("manager", `"`+n.alien["manager"]+`"`)
		set("friends", `["`+n.alien["friends"]+`"]`)
	}
	before := n.api.Do("GET", contactsPath, "")
	if got := n.admin.Do("DELETE", "/api/collections/contacts/records/"+n.alien["manager"], ""); got.Status != 204 {
		t.Fatalf("deleting gives %d %s", got.Status, got.Body)
	}
	if after := n.api.Do("GET", contactsPath, ""); string(after.Body) != string(before.Body) || len(before.JSON()["data"].([]any)) < 2 {
		t.Errorf("the other tenant's contacts were %s and are %s", before.Body, after.Body)
	}
}

// A link stored before the rule existed does not prevent other changes; it can be kept or removed.
func TestStoredLinksToOthersDoNotHinder(t *testing.T) {
	t.Parallel()
	n := newNeighbours(t)
	id := testkit.Record(t, n.App, "contacts", map[string]any{"tenant": n.other, "name": "Ada"}).Id
	_, err := n.App.DB().NewQuery("UPDATE contacts SET manager = {:alien}, friends = json_array({:alien}) WHERE id = {:id}").
		Bind(map[string]any{"id": id, "alien": n.alien["manager"]}).Execute()
	if err != nil {
		t.Fatal(err)
	}
	more := testkit.Record(t, n.App, "contacts", map[string]any{"tenant": n.tenant, "name": "More"}).Id
	stored, own := n.alien["friends"], n.own["friends"]
	paths := map[*testkit.Client]string{n.api: contactsPath + "/" + id, n.admin: "/api/collections/contacts/records/" + id}
	for i, step := range []struct {
		body   string
		status int
	}{
		{`{"company":"Engines"}`, 200},
		{`{"manager":"` + stored + `","company":"Mills"}`, 200},
		{`{"friends":["` + stored + `","` + own + `"]}`, 200},
		{`{"friends":["` + stored + `","` + more + `"]}`, 400},
		{`{"manager":"` + more + `"}`, 400},
		{`{"friends":["` + stored + `"]}`, 200},
	} {
		for client, path := range paths {
			if got := client.Do("PATCH", path, step.body); got.Status != step.status {
				t.Errorf("step %d, %s: %s gives %d %s", i, path, step.body, got.Status, got.Body)
			}
		}
	}
	for field, value := range map[string]string{"manager": `"` + stored + `"`, "friends": fmt.Sprintf("[%q]", stored)} {
		for _, step := range []struct {
			value  string
			status int
		}{{"null", 200}, {value, 400}} {
			if got := n.api.Do("PATCH", paths[n.api], `{"`+field+`":`+step.value+`}`); got.Status != step.status {
				t.Errorf("%s of %s gives %d %s", field, step.value, got.Status, got.Body)
			}
		}
	}
}

// Deleting a contact deletes those below it, in a tree and in a circle of an admin's relation, each once and with one
// event, whoever deletes it.
func TestNestedCascades(t *testing.T) {
	t.Parallel()
	n := newNeighbours(t)
	for door, remove := range map[string]func(id string){
		"records API": func(id string) {
			if got := n.admin.Do("DELETE", "/api/collections/contacts/records/"+id, ""); got.Status != 204 {
				t.Errorf("deleting by the records API gives %d %s", got.Status, got.Body)
			}
		},
		"inbound": func(id string) {
			if got := n.hooks.Do("POST", n.hooks.path, `{"id":"`+id+`","action":"delete"}`); got.Status != 200 {
				t.Errorf("deleting by an inbound webhook gives %d %s", got.Status, got.Body)
			}
		},
	} {
		for shape, managers := range map[string][]int{"a tree": {-1, 0, 0, 1, 3}, "a circle": {2, 0, 1}} {
			ids := make([]string, len(managers))
			for i := range managers {
				ids[i] = testkit.Record(t, n.App, "contacts", map[string]any{"tenant": n.other, "name": shape}).Id
			}
			for i, manager := range managers {
				if manager < 0 {
					continue
				}
				if got := n.api.Do("PATCH", contactsPath+"/"+ids[i], `{"manager":"`+ids[manager]+`"}`); got.Status != 200 {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
			}
			kept := testkit.Record(t, n.App, "contacts", map[string]any{"tenant": n.other, "name": "kept"}).Id
			remove(ids[0])
			for _, id := range ids {
				if got := n.api.Do("GET", contactsPath+"/"+id, ""); got.Status != 404 {
					t.Errorf("%s, %s: %s gives %d", door, shape, id, got.Status)
				}
				if count := testkit.Count(t, n.App, "SELECT count(*) FROM events WHERE contact = {:id} AND type = 'contact.deleted'", dbx.Params{"id": id}); count != 1 {
					t.Errorf("%s, %s: %d events instead of 1", door, shape, count)
				}
			}
			if got := n.api.Do("GET", contactsPath+"/"+kept, ""); got.Status != 200 {
				t.Errorf("%s, %s: another contact gives %d", door, shape, got.Status)
			}
		}
	}
}
