package routes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// create creates a contact and returns its id.
func create(t *testing.T, client *testkit.Client, body string) string {
	t.Helper()
	got := client.Do("POST", contactsPath, body)
	if got.Status != http.StatusCreated {
		t.Fatalf("creating %s gives %d %s", body, got.Status, got.Body)
	}
	return got.Data()["id"].(string)
}

func mergePath(id string) string { return contactsPath + "/" + id + "/merge" }

// stored returns all rows that a merge may change, for comparing.
func stored(t *testing.T, f *fixture) string {
	t.Helper()
	var all string
	for _, table := range []string{"contacts", "events", "_contactSearch", "_idempotency", "audit_log"} {
		var rows []dbx.NullStringMap
		if err := f.App.DB().NewQuery("SELECT * FROM " + table + " ORDER BY 1").All(&rows); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		all += string(encoded) + "\n"
	}
	return all
}

// The remaining contact gets what it lacks from the first that has it, and what fields names; the others are deleted.
func TestMerge(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.AddFields(t, f.App, &core.TextField{Name: "note"}, &core.BoolField{Name: "vip"}, &core.JSONField{Name: "meta"},
		&core.NumberField{Name: "score"}, &core.TextField{Name: "internal", Hidden: true})
	ada := create(t, client, `{"name":"Ada","email":"ada@example.com","score":0}`)
	second := create(t, client, `{"name":"A. Lovelace","email":"ADA@example.com","phone":"+491","note":"","score":7}`)
	third := create(t, client, `{"name":"Countess","phone":"+492","company":"Engines","externalId":"crm-1","note":"old","vip":true,"meta":{"a":[1.0]}}`)
	if _, err := f.App.DB().NewQuery("UPDATE contacts SET internal = 'secret' WHERE id = {:id}").Bind(dbx.Params{"id": third}).Execute(); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"from":[%q,%q],"fields":{"name":%q,"email":%q}`, second, third, second, ada)
	before := stored(t, f)
	planned := client.Do("POST", mergePath(ada), body+`,"dryRun":true}`, "Idempotency-Key", "dry")
	if planned.Status != http.StatusOK || stored(t, f) != before {
		t.Fatalf("the dry run gives %d %s, or writes something", planned.Status, planned.Body)
	}
	got := client.Do("POST", mergePath(ada), body+`}`)
	read := client.Do("GET", contactsPath+"/"+ada, "")
	if got.Status != http.StatusOK || string(got.Body) != string(read.Body) || got.Header.Get("ETag") != read.Header.Get("ETag") {
		t.Fatalf("the merge gives %d %s, and then there is %s", got.Status, got.Body, read.Body)
	}
	for name, want := range map[string]any{
		"id": ada, "name": "A. Lovelace", "email": "ada@example.com", "phone": "+491", "company": "Engines", "externalId": "crm-1",
		"note": "old", "vip": true, "score": 7.0, "meta": map[string]any{"a": []any{1.0}},
	} {
		for way, data := range map[string]map[string]any{"the dry run": planned.Data(), "the merge": got.Data()} {
			if fmt.Sprint(data[name]) != fmt.Sprint(want) {
				t.Errorf("%s gives the %s %v, not %v", way, name, data[name], want)
			}
		}
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM contacts WHERE id = {:id} AND internal = 'secret'", dbx.Params{"id": ada}); n != 1 {
		t.Error("a hidden field is lost")
	}
	if kinds := events(t, f, ada); kinds != "contact.created contact.updated" {
		t.Errorf("the remaining contact has the events %s", kinds)
	}
	testkit.Sweep(t, f.App)
	for _, id := range []string{second, third} {
		if got := client.Do("GET", contactsPath+"/"+id, ""); got.Data()["id"] != ada {
			t.Errorf("a merged contact is answered %d %s", got.Status, got.Body)
		}
		feed := client.Do("GET", "/api/ext/v1/events?after=&types=contact.deleted&contact="+id, "").JSON()["data"].([]any)
		if len(feed) != 1 || feed[0].(map[string]any)["mergedInto"] != ada || feed[0].(map[string]any)["erased"] != true {
			t.Errorf("its deletion is in the feed as %v", feed)
		}
	}
	if found := client.Do("GET", contactsPath+"?q=engines", "").JSON()["data"].([]any); len(found) != 1 {
		t.Errorf("a search finds %d contacts", len(found))
	}
}

// A receiver gets the whole payload of a merged contact's deletion.
func TestMergedIntoIsSent(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.Webhook(t, f.App, f.tenant, "https://example.com", "")
	ada, other := create(t, client, `{"name":"Ada"}`), create(t, client, `{"name":"Ada"}`)
	if got := client.Do("POST", mergePath(ada), `{"from":["`+other+`"]}`); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	feed := client.Do("GET", "/api/ext/v1/events?after=&types=contact.deleted", "").JSON()["data"].([]any)
	if len(feed) != 1 {
		t.Fatalf("the feed has %v", feed)
	}
	sent := feed[0].(map[string]any)
	if data, _ := sent["data"].(map[string]any); sent["mergedInto"] != ada || data["name"] != "Ada" || sent["erased"] != nil {
		t.Errorf("sent is %v", sent)
	}
	if kinds := events(t, f, ada); kinds != "contact.created" { // nothing has changed
		t.Errorf("the remaining contact has the events %s", kinds)
	}
}

func TestMergeThatIsRefused(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.AddFields(t, f.App, &core.FileField{Name: "photo", MaxSelect: 1}, &core.TextField{Name: "internal", Hidden: true})
	foreign := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other")))
	ada, other := create(t, client, `{"name":"Ada","externalId":"a"}`), create(t, client, `{"email":"ada@example.com","externalId":"b"}`)
	plain, strange := create(t, client, `{"name":"Plain"}`), create(t, foreign, `{"name":"Strange"}`)
	reader := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:read"))
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprintf(`"id%d"`, i)
	}
	before := stored(t, f)
	for _, tc := range []struct {
		id, body string
		status   int
		code     string
		field    string
	}{
		{ada, `{"from":["` + other + `"]}`, 400, "validation_failed", "externalId required"},
		{ada, `{}`, 400, "validation_failed", "from required"},
		{ada, `{"from":[]}`, 400, "validation_failed", "from invalid_value"},
		{ada, `{"from":[` + strings.Join(many, ",") + `]}`, 400, "validation_failed", "from invalid_value"},
		{ada, `{"from":["` + plain + `","` + plain + `"]}`, 400, "validation_failed", "from invalid_value"},
		{ada, `{"from":["` + ada + `"]}`, 400, "validation_failed", "from invalid_value"},
		{ada, `{"from":[7]}`, 400, "validation_failed", "from invalid_value"},
		{ada, `{"from":"` + plain + `"}`, 400, "validation_failed", "from invalid_value"},
		{ada, `{"from":["` + plain + `","` + nobody + `"]}`, 400, "validation_failed", "from invalid_value"},
		{ada, `{"from":["` + strange + `"]}`, 400, "validation_failed", "from invalid_value"},
		{strange, `{"from":["` + plain + `"]}`, 404, "not_found", " "},
		{strange, `{"from":7}`, 404, "not_found", " "},
		{nobody, `{"from":["` + plain + `"]}`, 404, "not_found", " "},
		{ada, `{"from":["` + plain + `"],"fields":{"email":"` + other + `"}}`, 400, "validation_failed", "email invalid_value"},
		{ada, `{"from":["` + plain + `"],"fields":{"email":7}}`, 400, "validation_failed", "email invalid_value"},
		{ada, `{"from":["` + plain + `"],"fields":{"note":"` + ada + `"}}`, 400, "validation_failed", "note unknown_field"},
		{ada, `{"from":["` + plain + `"],"fields":{"internal":"` + ada + `"}}`, 400, "validation_failed", "internal unknown_field"},
		{ada, `{"from":["` + plain + `"],"fields":{"photo":"` + ada + `"}}`, 400, "validation_failed", "photo unknown_field"},
		{ada, `{"from":["` + plain + `"],"fields":{"id":"` + plain + `"}}`, 400, "validation_failed", "id unknown_field"},
		{ada, `{"from":["` + plain + `"],"fields":["` + ada + `"]}`, 400, "validation_failed", "fields invalid_value"},
		{ada, `{"from":["` + plain + `"],"dryRun":"yes"}`, 400, "validation_failed", "dryRun invalid_value"},
		{ada, `{"from":["` + plain + `"],"note":1}`, 400, "validation_failed", "note unknown_field"},
		{ada, `{"from":["` + other + `"],"fields":{"externalId":"` + ada + `","name":"` + other + `","email":"` + ada + `"}}`, 400, "validation_failed", "name required"},
		{ada, `[]`, 400, "invalid_json", " "},
		{ada, `{"from":["` + strings.Repeat("x", 65<<10) + `"]}`, 413, "payload_too_large", " "},
	} {
		got := client.Do("POST", mergePath(tc.id), tc.body)
		name, code, _ := strings.Cut(tc.field, " ")
		if got.Status != tc.status || got.Code() != tc.code || got.FieldCode(name) != code {
			t.Errorf("%.200s is answered %d %s", tc.body, got.Status, got.Body)
		}
	}
	if got := client.Do("POST", mergePath(ada), `{"from":["`+plain+`"]}`, "Content-Type", "text/plain"); got.Status != 415 {
		t.Errorf("a text is answered %d %s", got.Status, got.Body)
	}
	if got := reader.Do("POST", mergePath(ada), `{"from":["`+plain+`"]}`); got.Status != 403 {
		t.Errorf("a key that reads is answered %d %s", got.Status, got.Body)
	}
	got := client.Do("POST", mergePath(ada), `{"from":["`+plain+`"]}`, "If-Match", `"stale"`)
	if got.Status != 412 || got.Code() != "precondition_failed" {
		t.Errorf("a stale ETag is answered %d %s", got.Status, got.Body)
	}
	if stored(t, f) != before {
		t.Error("something was written")
	}
	tag := client.Do("GET", contactsPath+"/"+ada, "").Header.Get("ETag")
	got = client.Do("POST", mergePath(ada), `{"from":["`+other+`"],"fields":{"externalId":"`+other+`"}}`, "If-Match", tag)
	if got.Status != 200 || got.Data()["externalId"] != "b" {
		t.Errorf("the current ETag is answered %d %s", got.Status, got.Body)
	}
}

// With an idempotency key, a repetition gets the first answer, although the others do not exist any more.
func TestMergeIsRepeatable(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	ada, other, last := create(t, client, `{"name":"Ada"}`), create(t, client, `{"name":"Ada","phone":"+491"}`), create(t, client, `{"name":"Ada"}`)
	body := `{"from":["` + other + `"]}`
	first := client.Do("POST", mergePath(ada), body, "Idempotency-Key", "one")
	again := client.Do("POST", mergePath(ada), body, "Idempotency-Key", "one")
	if first.Status != 200 || again.Status != 200 || string(first.Body) != string(again.Body) ||
		again.Header.Get("Idempotency-Replayed") != "true" || again.Header.Get("ETag") != first.Header.Get("ETag") {
		t.Errorf("the answers are %d %s and %d %s", first.Status, first.Body, again.Status, again.Body)
	}
	if got := client.Do("POST", mergePath(ada), `{"from":[]}`, "Idempotency-Key", "one"); got.Status != 422 {
		t.Errorf("an invalid body gives %d %s", got.Status, got.Body)
	}
	if got := client.Do("POST", mergePath(ada), `{"from":["`+last+`"]}`, "Idempotency-Key", "one"); got.Status != 422 {
		t.Errorf("another body is answered %d %s", got.Status, got.Body)
	}
	if got := client.Do("POST", mergePath(last), `{"from":["`+ada+`"]}`, "Idempotency-Key", "one"); got.Status != 200 {
		t.Errorf("the key for another contact is answered %d %s", got.Status, got.Body)
	}
}

// Relations of the admin's collections and of contacts lead to the remaining contact, each once.
func TestMergeMovesRelations(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.AddRelated(t, f.App, "deals", "contacts", core.RelationField{Name: "buyer", MaxSelect: 1, Required: true})
	testkit.AddRelated(t, f.App, "teams", "contacts", core.RelationField{Name: "members", MaxSelect: 5})
	testkit.ChangeContacts(t, f.App, func(contacts *core.Collection) {
		contacts.Fields.Add(&core.RelationField{Name: "manager", CollectionId: contacts.Id, MaxSelect: 1, CascadeDelete: true})
		contacts.Fields.Add(&core.RelationField{Name: "friends", CollectionId: contacts.Id, MaxSelect: 5})
	})
	ada, bob := create(t, client, `{"name":"Ada"}`), create(t, client, `{"name":"Bob"}`)
	second := create(t, client, `{"name":"Ada","manager":"`+bob+`"}`)
	third := create(t, client, `{"name":"Ada","manager":"`+second+`"}`)
	report := create(t, client, `{"name":"Report","manager":"`+third+`","friends":["`+third+`","`+second+`"]}`)
	if got := client.Do("PATCH", contactsPath+"/"+ada, `{"manager":"`+third+`"}`); got.Status != 200 {
		t.Fatal(got.Status)
	}
	deal := testkit.Record(t, f.App, "deals", map[string]any{"buyer": third}).Id
	team := testkit.Record(t, f.App, "teams", map[string]any{"members": []string{second, bob, ada, third}}).Id
	got := client.Do("POST", mergePath(ada), `{"from":["`+third+`","`+second+`"]}`)
	if got.Status != 200 || got.Data()["manager"] != bob { // a contact does not manage itself
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	for _, tc := range []struct{ collection, id, field, want string }{
		{"deals", deal, "buyer", ada}, {"teams", team, "members", ada + " " + bob}, {"contacts", report, "manager", ada}, {"contacts", report, "friends", ada},
	} {
		record, err := f.App.FindRecordById(tc.collection, tc.id)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(record.GetStringSlice(tc.field), " "); got != tc.want {
			t.Errorf("%s of %s leads to %s, not %s", tc.field, tc.collection, got, tc.want)
		}
	}
	for id, want := range map[string]string{
		ada: "contact.created contact.updated contact.updated", second: "contact.created contact.deleted", third: "contact.created contact.deleted",
		report: "contact.created contact.updated", bob: "contact.created",
	} {
		if kinds := events(t, f, id); kinds != want {
			t.Errorf("a contact has the events %s, want %s", kinds, want)
		}
	}
}

// Where a relation cannot move, or anything else fails, nothing is written.
func TestMergeIsAtomic(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.AddRelated(t, f.App, "deals", "contacts", core.RelationField{Name: "buyer", MaxSelect: 1})
	testkit.AddRelated(t, f.App, "accounts", "contacts", core.RelationField{Name: "owner", MaxSelect: 1})
	accounts, err := f.App.FindCollectionByNameOrId("accounts")
	if err != nil {
		t.Fatal(err)
	}
	accounts.AddIndex("idx_owner", true, "owner", "")
	if err := f.App.Save(accounts); err != nil {
		t.Fatal(err)
	}
	ada, second, third := create(t, client, `{"name":"Ada"}`), create(t, client, `{"name":"Ada","phone":"+491"}`), create(t, client, `{"name":"Ada","externalId":"x"}`)
	deal := testkit.Record(t, f.App, "deals", map[string]any{"buyer": second})
	testkit.Record(t, f.App, "accounts", map[string]any{"owner": ada})
	blocking := testkit.Record(t, f.App, "accounts", map[string]any{"owner": third})
	body := `{"from":["` + second + `","` + third + `"]}`
	before := stored(t, f)
	unchanged := func(when string) {
		t.Helper()
		if stored(t, f) != before {
			t.Errorf("%s, something is written", when)
		}
		if now, err := f.App.FindRecordById("deals", deal.Id); err != nil || now.GetString("buyer") != second {
			t.Errorf("%s, a relation has moved (%v)", when, err)
		}
	}
	got := client.Do("POST", mergePath(ada), body, "Idempotency-Key", "one")
	if got.Status != 409 || got.Code() != "in_use" || !strings.Contains(string(got.Body), "owner of the collection accounts") {
		t.Errorf("a unique index is answered %d %s", got.Status, got.Body)
	}
	unchanged("after a relation that cannot move")
	if err := f.App.Delete(blocking); err != nil {
		t.Fatal(err)
	}
	testkit.Execute(t, f.App, "CREATE TRIGGER burns BEFORE UPDATE OF phone ON contacts BEGIN SELECT RAISE(ABORT, 'the disk burns'); END", nil)
	if got := client.Do("POST", mergePath(ada), body, "Idempotency-Key", "one"); got.Status != 500 {
		t.Errorf("a failure is answered %d %s", got.Status, got.Body)
	}
	unchanged("after a failure")
	testkit.Execute(t, f.App, "DROP TRIGGER burns", nil)
	if got := client.Do("POST", mergePath(ada), body, "Idempotency-Key", "one"); got.Status != 200 || got.Data()["phone"] != "+491" || got.Data()["externalId"] != "x" {
		t.Errorf("the merge is answered %d %s", got.Status, got.Body)
	}
}
