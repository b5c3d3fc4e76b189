package routes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// addStructured adds custom fields whose values are lists and objects, and relations.
func addStructured(t *testing.T, f *fixture) {
	t.Helper()
	contacts, err := f.App.FindCollectionByNameOrId("contacts")
	if err != nil {
		t.Fatal(err)
	}
	testkit.AddFields(t, f.App, &core.SelectField{Name: "tags", MaxSelect: 3, Values: []string{"a", "b", "c"}}, &core.JSONField{Name: "meta"},
		&core.GeoPointField{Name: "geo"}, &core.TextField{Name: "note"}, &core.RelationField{Name: "referrer", CollectionId: contacts.Id, MaxSelect: 1},
		&core.RelationField{Name: "friends", CollectionId: contacts.Id, MaxSelect: 5})
}

// Lists and objects set the custom fields that have such values, and are ignored elsewhere.
func TestInboundStructuredFields(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	addStructured(t, f)
	s := newSender(t, f, "upsert", nil)
	answer := s.expect("created:1", `{"email":"ada@example.com","tags":["a","b"],"meta":{"b":[1.50],"a":{}},"geo":{"lon":1,"lat":2},"note":["x","y"],"plan":["x"]}`)
	if !strings.Contains(string(answer.Body), `ignored: \"plan\"`) || !strings.Contains(string(answer.Body), `note ignored: \"[\\\"x\\\",\\\"y\\\"]\" is a list`) {
		t.Errorf("got %s", answer.Body)
	}
	s.expect("unchanged:1", `{"email":"ada@example.com","tags":["a","b"]}`)
	got := client.Do("GET", contactsPath, "")
	for _, want := range []string{`"tags":["a","b"]`, `"meta":{"a":{},"b":[1.50]}`, `"geo":{"lon":1,"lat":2}`, `"note":null`} {
		if !strings.Contains(string(got.Body), want) {
			t.Errorf("%s is not in %s", want, got.Body)
		}
	}
}

// Another installation's events carry lists and objects, too, and no relations, whose IDs are of that installation.
func TestInboundEventsWithStructuredFields(t *testing.T) {
	t.Parallel()
	source, f := newAPI(t)
	addStructured(t, f)
	here := &fixture{App: f.App, base: f.base, tenant: testkit.Tenant(t, f.App, "Copy")}
	copied := testkit.NewClient(t, f.base, testkit.Key(t, f.App, here.tenant))
	s := newSender(t, here, "full", nil)
	sent := 0
	forward := func(want string) {
		t.Helper()
		all := payloads(t, f)
		for _, payload := range all[sent:] {
			s.expect(want, payload)
		}
		sent = len(all)
	}
	expect := func(wants ...string) {
		t.Helper()
		got := copied.Do("GET", contactsPath+"?email=ada@example.com", "")
		for _, want := range wants {
			if !strings.Contains(string(got.Body), want) {
				t.Errorf("%s is not in %s", want, got.Body)
			}
		}
	}
	friend := create(t, source, `{"name":"Grace"}`)
	ada := create(t, source, fmt.Sprintf(`{"email":"ada@example.com","tags":["a","b"],"meta":{"b":1,"a":2},"geo":{"lon":1,"lat":2},"referrer":%q,"friends":[%[1]q]}`, friend))
	forward("created:1")
	expect(`"tags":["a","b"]`, `"meta":{"a":2,"b":1}`, `"geo":{"lon":1,"lat":2}`, `"referrer":null`)

	source.Do("PATCH", contactsPath+"/"+ada, `{"tags":["c"],"meta":[1,2],"referrer":null}`)
	forward("updated:1")
	expect(`"tags":["c"]`, `"meta":[1,2]`, `"geo":{"lon":1,"lat":2}`)

	id := copied.Do("GET", contactsPath+"?email=ada@example.com", "").JSON()["data"].([]any)[0].(map[string]any)["id"].(string)
	copied.Do("PATCH", contactsPath+"/"+id, `{"tags":["a"]}`) // what did not change at the source is kept
	source.Do("PATCH", contactsPath+"/"+ada, `{"meta":{"z":1},"friends":[]}`)
	forward("updated:1")
	expect(`"tags":["a"]`, `"meta":{"z":1}`)
}
