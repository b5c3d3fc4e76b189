package integrations_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/contact/imports"
	"contactbase/internal/testkit"
)

// sources returns what made the changes of a contact's events, the oldest first, as receivers see it.
func sources(t *testing.T, app core.App, contactID string) (found []string) {
	t.Helper()
	err := app.DB().NewQuery("SELECT coalesce(payload -> '$.source', '') FROM events WHERE contact = {:id} ORDER BY rowid").
		Bind(dbx.Params{"id": contactID}).Column(&found)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// idOf returns the id of the only record of a tenant in a collection.
func idOf(t *testing.T, app core.App, collection, tenantID string) string {
	t.Helper()
	record, err := app.FindFirstRecordByData(collection, "tenant", tenantID)
	if err != nil {
		t.Fatal(err)
	}
	return record.Id
}

// Each event says which door its change came through, and nothing about people.
func TestSources(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	superuser := newAdmin(t, f)
	admin, _ := newMember(t, f, f.tenant, "admin")
	viewer, _ := newMember(t, f, f.tenant, "viewer")
	token := testkit.Inbound(t, f.App, f.tenant, "full", nil)
	key, inbound := idOf(t, f.App, "api_keys", f.tenant), idOf(t, f.App, "inbound_webhooks", f.tenant)

	id := client.Do("POST", contactsPath, `{"name":"Ada","externalId":"crm-1"}`).Data()["id"].(string)
	client.Do("PATCH", contactsPath+"/"+id, `{"company":"Engines"}`)
	client.Do("POST", contactsPath+"/batch", `{"items":[{"action":"update","id":"`+id+`","contact":{"company":"Batch"}}]}`)
	client.Do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"update_contact","arguments":{"id":"`+id+`","company":"Model"}}}`,
		"Accept", "application/json, text/event-stream")
	guest := testkit.NewClient(t, f.base, "")
	guest.Do("POST", "/api/hooks/"+token, `{"externalId":"crm-1","company":"Form"}`)
	client.Do("PATCH", contactsPath+"/"+id, `{"company":"Engines"}`)
	superuser.Do("POST", integrationsPath+"/inbound/requests/"+idOf(t, f.App, "inbound_requests", f.tenant)+"/replay", "")
	superuser.Do("PATCH", "/api/collections/contacts/records/"+id, `{"company":"Dashboard"}`)
	stored := admin.Do("POST", importsPath+"?tenant="+f.tenant+"&name=people.csv", "externalId,company\ncrm-1,File\n", "Content-Type", "text/csv").Data()
	imported := stored["id"].(string)
	admin.Do("POST", importsPath+"/"+imported+"/start", `{}`)
	if err := imports.Work(t.Context(), f.App); err != nil {
		t.Fatal(err)
	}
	operator := audit.As(f.App, audit.Actor{Kind: audit.Command, Name: "root"})
	for _, app := range []core.App{operator, f.App} {
		record, err := app.FindRecordById("contacts", id)
		if err != nil {
			t.Fatal(err)
		}
		record.Set("company", record.GetString("company")+"!")
		if err := app.Save(record); err != nil {
			t.Fatal(err)
		}
	}
	other := client.Do("POST", contactsPath, `{"name":"A. L.","phone":"+491"}`).Data()["id"].(string)
	admin.Do("POST", integrationsPath+"/tenants/"+f.tenant+"/contacts/"+id+"/merge", `{"from":["`+other+`"]}`)
	third := client.Do("POST", contactsPath, `{"name":"Ada L.","email":"ada@example.com"}`).Data()["id"].(string)
	client.Do("POST", contactsPath+"/"+id+"/merge", `{"from":["`+third+`"]}`)

	byKey, byInbound := `{"type":"key","id":"`+key+`"}`, `{"type":"inbound","id":"`+inbound+`"}`
	want := []string{
		byKey, byKey, byKey, `{"type":"mcp","id":"` + key + `"}`, byInbound, byKey, byInbound, `{"type":"superuser"}`,
		`{"type":"import","id":"` + imported + `"}`, `{"type":"command"}`, `{"type":"system"}`, `{"type":"member","merge":true}`,
		`{"type":"key","id":"` + key + `","merge":true}`,
	}
	if got := sources(t, f.App, id); !slices.Equal(got, want) {
		t.Errorf("the sources are\n%s, not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := sources(t, f.App, other); !slices.Equal(got, []string{byKey, `{"type":"member","merge":true}`}) {
		t.Errorf("the sources of a contact that was merged are %s", got)
	}

	member := "admin@" + f.tenant + ".example.com"
	shown := []string{
		"key test ", "key test ", "key test ", "mcp test ", "inbound test ", "key test ", "inbound test ", "superuser  root@example.com",
		"import people.csv " + member, "command  root", "system  ", "member  " + member, "key test ",
	}
	readers := map[string]*testkit.Client{"superuser": superuser, "admin": admin, "viewer": viewer}
	expectSources(t, readers, id, shown)
	for collection, record := range map[string]string{"api_keys": key, "inbound_webhooks": inbound} {
		superuser.Do("DELETE", "/api/collections/"+collection+"/records/"+record, "")
	}
	expectSources(t, readers, id, shown) // a deleted key keeps its name
}

// expectSources checks what each role sees as the sources of a contact's events, the oldest first: type, name and person.
func expectSources(t *testing.T, readers map[string]*testkit.Client, contactID string, shown []string) {
	t.Helper()
	for role, reader := range readers {
		var got []string
		for _, line := range reader.Do("GET", integrationsPath+"/contacts/"+contactID+"/events", "").Data()["events"].([]any) {
			source := line.(map[string]any)["source"].(map[string]any)
			text := func(name string) string { value, _ := source[name].(string); return value }
			got = append([]string{text("type") + " " + text("name") + " " + text("person")}, got...)
		}
		for i, line := range shown {
			if role == "viewer" {
				line = line[:strings.LastIndex(line, " ")+1]
			}
			if i >= len(got) || got[i] != line {
				t.Errorf("a %s sees %q, not %q", role, got, shown)
				break
			}
		}
	}
}

// What a deletion deletes with a record is done by whoever deletes that.
func TestSourcesOfCascades(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.AddRelated(t, f.App, "firms", "contacts", core.RelationField{Name: "boss", MaxSelect: 1})
	firms, err := f.App.FindCollectionByNameOrId("firms")
	if err != nil {
		t.Fatal(err)
	}
	testkit.AddFields(t, f.App, &core.RelationField{Name: "firm", CollectionId: firms.Id, MaxSelect: 1, CascadeDelete: true})
	boss := client.Do("POST", contactsPath, `{"name":"Grace"}`).Data()["id"].(string)
	firm := testkit.Record(t, f.App, "firms", map[string]any{"tenant": f.tenant, "boss": boss})
	id := client.Do("POST", contactsPath, `{"name":"Ada","firm":"`+firm.Id+`"}`).Data()["id"].(string)
	newAdmin(t, f).Do("DELETE", "/api/collections/firms/records/"+firm.Id, "")
	if got := sources(t, f.App, id); len(got) != 2 || got[1] != `{"type":"superuser"}` {
		t.Errorf("the sources are %s", got)
	}
}

// With a contact's erasure, nothing is left of the sources of its events.
func TestSourcesAreErased(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	contacts := "/api/collections/contacts/records"
	create := func(name string) string {
		t.Helper()
		var record struct{ ID string }
		got := superuser.Do("POST", contacts, fmt.Sprintf(`{"tenant":%q,"name":%q}`, f.tenant, name))
		if err := json.Unmarshal(got.Body, &record); err != nil || record.ID == "" {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return record.ID
	}
	gone := create("Ada")
	create("Grace")
	superuser.Do("DELETE", contacts+"/"+gone, "")
	count := func() int { return testkit.Count(t, f.App, "SELECT count(*) FROM _sources", nil) }
	if n := count(); n != 3 {
		t.Fatalf("%d changes have a person, not 3", n)
	}
	testkit.FanOut(t, f.App)
	testkit.Sweep(t, f.App)
	if got := sources(t, f.App, gone); count() != 1 || !slices.Equal(got, []string{"", ""}) {
		t.Errorf("left are %d people and the sources %q", count(), got)
	}
	superuser.Do("DELETE", "/api/collections/tenants/records/"+f.tenant, "")
	testkit.Sweep(t, f.App)
	if n := count(); n != 0 {
		t.Errorf("%d people are left of a deleted tenant", n)
	}
}
