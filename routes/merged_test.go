package routes_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/testkit"
)

// merged returns the ids of a contact crm-1 and of crm-2, which was merged into it.
func merged(t *testing.T, client *testkit.Client) (remaining, old string) {
	t.Helper()
	remaining = create(t, client, `{"name":"Ada","externalId":"crm-1"}`)
	old = create(t, client, `{"name":"A. Lovelace","email":"ada@example.com","externalId":"crm-2"}`)
	mergeInto(t, client, remaining, old)
	return remaining, old
}

func mergeInto(t *testing.T, client *testkit.Client, remaining string, from ...string) {
	t.Helper()
	body := fmt.Sprintf(`{"from":["%s"],"fields":{"externalId":%q}}`, strings.Join(from, `","`), remaining)
	if got := client.Do("POST", mergePath(remaining), body); got.Status != http.StatusOK {
		t.Fatalf("the merge gives %d %s", got.Status, got.Body)
	}
}

// The old ids of a merged contact lead to the one that remains at every door, and say so where a path named them.
func TestMergedContactStaysFound(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	remaining, old := merged(t, client)
	stale := `"000000000000000000000000"`
	s := newSender(t, f, "full", nil)
	batch := func(item string) *testkit.Answer {
		return client.Do("POST", contactsPath+"/batch", `{"items":[`+item+`]}`)
	}
	for _, door := range []struct {
		name   string
		answer *testkit.Answer
		want   string // in the body
	}{
		{"GET", client.Do("GET", contactsPath+"/"+old, ""), `"id":"` + remaining},
		{"PATCH", client.Do("PATCH", contactsPath+"/"+old, `{"company":"A","externalId":"crm-2"}`), `"company":"A"`},
		{"PATCH, stale", client.Do("PATCH", contactsPath+"/"+old, `{"company":"B"}`, "If-Match", stale), `"precondition_failed"`},
		{"PATCH, invalid", client.Do("PATCH", contactsPath+"/"+old, `{"no":"B"}`), `"unknown_field"`},
		{"PUT", client.Do("PUT", contactsPath+"/by-external-id/crm-2", `{"company":"C"}`), `"company":"C"`},
		{"PUT, only create", client.Do("PUT", contactsPath+"/by-external-id/crm-2", `{}`, "If-None-Match", "*"), `"precondition_failed"`},
		{"update", batch(`{"action":"update","id":"` + old + `","contact":{"company":"D"}}`), `"company":"D"`},
		{"upsert", batch(`{"action":"upsert","contact":{"externalId":"crm-2","company":"E"}}`), `"company":"E"`},
		{"upserts", batch(`{"action":"upsert","contact":{"externalId":"crm-9","name":"Nine"}},
			{"action":"upsert","contact":{"externalId":"crm-2","company":"F"}}`), `"company":"F"`},
		{"inbound", s.expect("updated:1", `{"externalId":"crm-2","company":"G"}`), remaining},
		{"inbound, by id", s.expect("updated:1", `{"id":"`+old+`","company":"H"}`), remaining},
		{"inbound deletion", s.expect("ignored:1", `{"action":"delete","externalId":"crm-2"}`), "merged into another one"},
	} {
		if !strings.Contains(string(door.answer.Body), door.want) {
			t.Errorf("%s gives %d %s", door.name, door.answer.Status, door.answer.Body)
		}
		located := door.answer.Header.Get("Content-Location")
		if names := door.name == "GET" || door.name == "PATCH" || door.name == "PUT"; names != strings.HasSuffix(located, contactsPath+"/"+remaining) {
			t.Errorf("%s has the Content-Location %q", door.name, located)
		}
	}
	got := client.Do("GET", contactsPath+"/"+remaining, "")
	if got.Data()["externalId"] != "crm-1" || got.Data()["company"] != "H" || got.Header.Get("Content-Location") != "" {
		t.Errorf("the remaining contact is %s", got.Body)
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM contacts", nil); n != 2 {
		t.Errorf("there are %d contacts", n)
	}
	if found := client.Do("GET", contactsPath+"?externalId=crm-2", "").JSON()["data"].([]any); len(found) != 0 {
		t.Errorf("a list finds %d", len(found))
	}
}

// Chains of merges lead to the last contact, in both directions, and a merge with itself is refused.
func TestMergedContactsLeadOn(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	first, old := merged(t, client)
	last := create(t, client, `{"name":"Countess","externalId":"crm-3"}`)
	self := client.Do("POST", mergePath(first), `{"from":["`+old+`"]}`)
	if self.Status != http.StatusBadRequest || !strings.Contains(string(self.Body), "leads to the remaining contact itself") {
		t.Errorf("merging a contact with itself gives %d %s", self.Status, self.Body)
	}
	// by its old id, twice, and with the external id of the merged one
	body := `{"from":["` + old + `","` + first + `"],"fields":{"externalId":"` + old + `"}}`
	got := client.Do("POST", mergePath(last), body)
	if got.Status != http.StatusOK || got.Data()["externalId"] != "crm-1" {
		t.Fatalf("the merge gives %d %s", got.Status, got.Body)
	}
	for _, id := range []string{"crm-1", "crm-2", "crm-3"} {
		if got := client.Do("PUT", contactsPath+"/by-external-id/"+id, `{}`); got.Status != http.StatusOK || got.Data()["id"] != last {
			t.Errorf("%s leads to %d %s", id, got.Status, got.Body)
		}
	}
	next := create(t, client, `{"name":"Lady"}`)
	located := client.Do("POST", mergePath(old), `{"from":["`+next+`"]}`)
	if located.Data()["id"] != last || !strings.HasSuffix(located.Header.Get("Content-Location"), last) {
		t.Errorf("a merge into an old id gives %d %s", located.Status, located.Body)
	}
	record, err := f.App.FindRecordById("contacts", last)
	if err == nil {
		err = f.App.Delete(record)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM _mergedContacts", nil); n != 0 {
		t.Errorf("%d rows outlive the remaining contact", n)
	}
	if got := client.Do("GET", contactsPath+"/"+old, ""); got.Status != http.StatusNotFound {
		t.Errorf("then there is %d %s", got.Status, got.Body)
	}
}

// A contact that gets an old external id takes it over for good; another tenant's contact does not.
func TestMergedContactsAreTakenOver(t *testing.T) {
	t.Parallel()
	taking := map[string]func(client *testkit.Client, other string) *testkit.Answer{
		"POST": func(client *testkit.Client, _ string) *testkit.Answer {
			return client.Do("POST", contactsPath, `{"name":"New","externalId":"crm-2"}`)
		},
		"PATCH": func(client *testkit.Client, other string) *testkit.Answer {
			return client.Do("PATCH", contactsPath+"/"+other, `{"externalId":"crm-2"}`)
		},
		"batch": func(client *testkit.Client, _ string) *testkit.Answer {
			return client.Do("POST", contactsPath+"/batch", `{"items":[{"action":"create","contact":{"name":"New","externalId":"crm-2"}},
				{"action":"upsert","contact":{"externalId":"crm-2","company":"own"}}]}`)
		},
	}
	for name, take := range taking {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, f := newAPI(t)
			remaining, old := merged(t, client)
			other := create(t, client, `{"name":"Other"}`)
			if got := take(client, other); got.Status >= http.StatusBadRequest {
				t.Fatalf("it gives %d %s", got.Status, got.Body)
			}
			found := client.Do("PUT", contactsPath+"/by-external-id/crm-2", `{"externalId":"crm-2"}`)
			if found.Data()["id"] == remaining || found.Data()["externalId"] != "crm-2" {
				t.Errorf("crm-2 leads to %s", found.Body)
			}
			taker := found.Data()["id"].(string)
			if got := client.Do("PATCH", contactsPath+"/"+taker, `{"externalId":null}`); got.Status != http.StatusOK {
				t.Fatal(string(got.Body))
			}
			if got := client.Do("PUT", contactsPath+"/by-external-id/crm-2", `{"name":"Again"}`); got.Status != http.StatusCreated {
				t.Errorf("later, crm-2 leads to %d %s", got.Status, got.Body)
			}
			if got := client.Do("GET", contactsPath+"/"+old, ""); got.Data()["id"] != remaining {
				t.Errorf("the old id leads to %s", got.Body)
			}
			stranger := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Stranger")))
			if got := stranger.Do("GET", contactsPath+"/"+old, ""); got.Status != http.StatusNotFound {
				t.Errorf("another tenant gets %d", got.Status)
			}
		})
	}
	t.Run("record", func(t *testing.T) {
		t.Parallel()
		client, f := newAPI(t)
		remaining, _ := merged(t, client)
		testkit.Record(t, f.App, "contacts", map[string]any{"tenant": f.tenant, "name": "Dashboard", "externalId": "crm-2"})
		if n := testkit.Count(t, f.App, "SELECT count(*) FROM _mergedContacts WHERE contact = {:id} AND oldExternalId = ''", dbx.Params{"id": remaining}); n != 1 {
			t.Error("a record does not take the external id over")
		}
	})
}
