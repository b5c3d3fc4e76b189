package routes_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"contactbase/internal/testkit"
)

const upsertPath = "/api/ext/v1/contacts/by-external-id/"

func TestUpsert(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	created := client.Do("PUT", upsertPath+"crm%2F1", `{"name":"Ada","company":"Engines"}`)
	id, _ := created.Data()["id"].(string)
	if created.Status != http.StatusCreated || created.Header.Get("Location") != client.Base+"/api/ext/v1/contacts/"+id || created.Data()["externalId"] != "crm/1" {
		t.Fatalf("got %d %s, Location %s", created.Status, created.Body, created.Header.Get("Location"))
	}
	changed := client.Do("PUT", upsertPath+"crm%2F1", `{"externalId":" crm/1 ","company":null}`)
	data := changed.Data()
	if changed.Status != http.StatusOK || data["id"] != id || data["name"] != "Ada" || data["company"] != nil || changed.Header.Get("Location") != "" {
		t.Fatalf("got %d %s", changed.Status, changed.Body)
	}
	read := client.Do("GET", "/api/ext/v1/contacts/"+id, "")
	if tag := changed.Header.Get("ETag"); tag == "" || tag != read.Header.Get("ETag") || tag == created.Header.Get("ETag") {
		t.Errorf("the tags are %s, %s and %s", created.Header.Get("ETag"), tag, read.Header.Get("ETag"))
	}
	if again := client.Do("PUT", upsertPath+"crm%2F1", `{"name":"Ada"}`); again.Data()["updatedAt"] != data["updatedAt"] {
		t.Errorf("a change of nothing answers %s", again.Body)
	}
	if got := events(t, f, id); got != "contact.created contact.updated" {
		t.Errorf("there are the events %s", got)
	}

	stranger := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other")))
	if other := stranger.Do("PUT", upsertPath+"crm%2F1", `{"name":"Zoe"}`); other.Status != http.StatusCreated || other.Data()["id"] == id {
		t.Errorf("another tenant gets %d %s", other.Status, other.Body)
	}
}

func TestUpsertThatIsRefused(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	tag := client.Do("PUT", upsertPath+"known", `{"name":"Ada"}`).Header.Get("ETag")
	for _, tc := range []struct {
		name, id, body string
		header         []string
		status         int
		code           string
		field          string
		fieldCode      string
	}{
		{"another id in the body", "known", `{"externalId":"other"}`, nil, 400, "validation_failed", "externalId", "invalid_value"},
		{"no id in the body", "known", `{"externalId":null}`, nil, 400, "validation_failed", "externalId", "invalid_value"},
		{"a number in the body", "known", `{"externalId":1}`, nil, 400, "validation_failed", "externalId", "invalid_type"},
		{"an id of spaces", "%20", `{"name":"A"}`, nil, 400, "validation_failed", "externalId", "required"},
		{"an id with a control character", "a%00b", `{"name":"A"}`, nil, 400, "validation_failed", "externalId", "invalid_characters"},
		{"a new one without name and email", "new", `{"company":"A"}`, nil, 400, "validation_failed", "name", "required"},
		{"a change that leaves neither", "known", `{"name":null}`, nil, 400, "validation_failed", "name", "required"},
		{"an unknown field", "known", `{"surname":"A"}`, nil, 400, "validation_failed", "surname", "unknown_field"},
		{"no JSON", "known", `{`, nil, 400, "invalid_json", "", ""},
		{"only to create", "known", `{"name":"B"}`, []string{"If-None-Match", "*"}, 412, "precondition_failed", "", ""},
		{"not with this tag", "known", `{"name":"B"}`, []string{"If-None-Match", tag}, 412, "precondition_failed", "", ""},
		{"only to update", "new", `{"name":"B"}`, []string{"If-Match", "*"}, 412, "precondition_failed", "", ""},
		{"only to update one", "new", `{"name":"B"}`, []string{"If-Match", tag}, 412, "precondition_failed", "", ""},
		{"only to update another", "known", `{"name":"B"}`, []string{"If-Match", `"0"`}, 412, "precondition_failed", "", ""},
		{"to update", "known", `{"name":"Ada"}`, []string{"If-Match", tag}, 200, "", "", ""},
		{"to create", "fresh", `{"name":"Ada"}`, []string{"If-None-Match", "*"}, 201, "", "", ""},
	} {
		answer := client.Do("PUT", upsertPath+tc.id, tc.body, tc.header...)
		if answer.Status != tc.status || answer.Code() != tc.code || tc.field != "" && answer.FieldCode(tc.field) != tc.fieldCode {
			t.Errorf("%s: got %d %s", tc.name, answer.Status, answer.Body)
		}
	}
	if answer := client.Do("GET", upsertPath+"known", ""); answer.Status != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "PUT" {
		t.Errorf("reading it gives %d, Allow %s", answer.Status, answer.Header.Get("Allow"))
	}
	reader := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:read"))
	if answer := reader.Do("PUT", upsertPath+"known", `{"name":"B"}`); answer.Code() != "insufficient_permission" {
		t.Errorf("a key that may read gets %d %s", answer.Status, answer.Body)
	}
}

// Concurrent upserts create a single contact.
func TestUpsertsAtTheSameTime(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	var created, updated atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			switch answer := client.Do("PUT", upsertPath+"one", `{"name":"Ada"}`); answer.Status {
			case http.StatusCreated:
				created.Add(1)
			case http.StatusOK:
				updated.Add(1)
			default:
				t.Errorf("got %d %s", answer.Status, answer.Body)
			}
		})
	}
	all.Wait()
	if created.Load() != 1 || updated.Load() != 19 {
		t.Errorf("%d created it and %d found it", created.Load(), updated.Load())
	}
}
