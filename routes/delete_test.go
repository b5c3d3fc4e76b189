package routes_test

import (
	"fmt"
	"strings"
	"testing"

	"contactbase/internal/credential"
	"contactbase/internal/testkit"
)

// everything are the permissions of a key that may do anything with contacts.
var everything = []string{"contacts:read", "contacts:write", "contacts:delete"}

// A contact is deleted only by a key with the permission, which no key has by default.
func TestDelete(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	deleter := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, everything...))
	other := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other"), everything...))
	id := create(t, client, `{"name":"Ada"}`)
	path := contactsPath + "/" + id
	for _, step := range []struct {
		name   string
		got    *testkit.Answer
		status int
		code   string
	}{
		{"nobody", testkit.NewClient(t, f.base, "").Do("DELETE", path, ""), 401, "missing_api_key"},
		{"no permission chosen", client.Do("DELETE", path, ""), 403, "insufficient_permission"},
		{"another tenant", other.Do("DELETE", path, ""), 404, "not_found"},
		{"unknown", deleter.Do("DELETE", contactsPath+"/"+nobody, ""), 404, "not_found"},
		{"the list", deleter.Do("DELETE", contactsPath, ""), 405, "method_not_allowed"},
		{"stale", deleter.Do("DELETE", path, "", "If-Match", `"stale"`), 412, "precondition_failed"},
		{"current", deleter.Do("DELETE", path, "", "If-Match", client.Do("GET", path, "").Header.Get("ETag")), 204, ""},
		{"again", deleter.Do("DELETE", path, ""), 404, "not_found"},
		{"again, any", deleter.Do("DELETE", path, "", "If-Match", "*"), 404, "not_found"},
		{"gone", client.Do("GET", path, ""), 404, "not_found"},
	} {
		if step.got.Status != step.status || step.code != "" && step.got.Code() != step.code {
			t.Errorf("%s: %d %s, not %d %s", step.name, step.got.Status, step.got.Body, step.status, step.code)
		}
	}
	if kinds := events(t, f, id); kinds != "contact.created contact.deleted" {
		t.Errorf("the events are %s", kinds)
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM events WHERE type = 'contact.deleted' AND json_extract(payload, '$.source.type') = 'key'", nil); n != 1 {
		t.Error("the deletion does not come from a key")
	}
	only := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:delete"))
	if got := only.Do("GET", contactsPath, ""); got.Status != 403 {
		t.Errorf("a key that only deletes reads: %d %s", got.Status, got.Body)
	}
	if got := only.Do("POST", contactsPath, `{"name":"Ada"}`); got.Status != 403 {
		t.Errorf("a key that only deletes writes: %d %s", got.Status, got.Body)
	}
}

// A relation of an administrator's prevents a deletion, and the id of a merged contact deletes none.
func TestDeletionConflicts(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	client := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, everything...))
	used, indirectly := create(t, client, `{"name":"Used"}`), create(t, client, `{"name":"Used indirectly"}`)
	require(t, f.App, used, indirectly)
	for _, id := range []string{used, indirectly} {
		if got := client.Do("DELETE", contactsPath+"/"+id, ""); got.Status != 409 || got.Code() != "in_use" {
			t.Errorf("a contact in use gives %d %s", got.Status, got.Body)
		}
	}
	remaining, old := merged(t, client)
	got := client.Do("DELETE", contactsPath+"/"+old, "")
	if got.Status != 409 || got.Code() != "merged_contact" || !strings.HasSuffix(got.Header.Get("Content-Location"), contactsPath+"/"+remaining) {
		t.Errorf("a merged contact gives %d %s at %q", got.Status, got.Body, got.Header.Get("Content-Location"))
	}
	if got := client.Do("DELETE", contactsPath+"/"+old, "", "If-Match", `"stale"`); got.Status != 412 {
		t.Errorf("a stale merged contact gives %d %s", got.Status, got.Body)
	}
	for _, item := range []string{`"id":"` + old + `"`, `"contact":{"externalId":"crm-2"}`} {
		got := client.Do("POST", batchPath, `{"items":[{"action":"delete",`+item+`}]}`)
		if lines := results(t, got.Body); strings.Join(lines, ",") != "failed merged_contact" {
			t.Errorf("%s gives %s", item, got.Body)
		}
	}
	if got := client.Do("DELETE", contactsPath+"/"+remaining, ""); got.Status != 204 {
		t.Errorf("the remaining contact gives %d %s", got.Status, got.Body)
	}
	if got := client.Do("DELETE", contactsPath+"/"+old, ""); got.Status != 404 {
		t.Errorf("afterwards, the merged contact gives %d %s", got.Status, got.Body)
	}
}

// A batch deletes by id, external id and email address, and never one of several contacts that share the address.
func TestBatchDeletes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	client := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, everything...))
	other := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other"), everything...))
	foreign := create(t, other, `{"name":"Foreign","externalId":"e9","email":"foreign@example.com"}`)
	byID := create(t, client, `{"name":"By ID"}`)
	create(t, client, `{"name":"By external ID","externalId":"e1","email":"e1@example.com"}`)
	create(t, client, `{"name":"By email","email":"ada@example.com"}`)
	for range 2 {
		create(t, client, `{"name":"Twin","email":"twin@example.com"}`)
	}
	byTwin := `{"action":"delete","match":"email","contact":{"email":"TWIN@example.com"}}`
	items := []struct{ item, want string }{
		{`{"action":"delete","id":"` + byID + `"}`, "deleted"},
		{`{"action":"delete","id":"` + byID + `","contact":{}}`, "failed not_found"},
		{`{"action":"delete","contact":{"externalId":"e1","name":"ignored"}}`, "deleted"},
		{`{"action":"delete","match":"externalId","contact":{"externalId":"e1"}}`, "failed not_found"},
		{`{"action":"delete","match":"email","contact":{"email":"ADA@example.com"}}`, "deleted"},
		{byTwin, "failed ambiguous"},
		{`{"action":"upsert","match":"email","contact":{"email":"twin@example.com","company":"A"}}`, "updated Twin"},
		{byTwin, "failed ambiguous"},
		{`{"action":"upsert","match":"email","contact":{"email":"twin@example.com","externalId":"t1"}}`, "updated Twin"},
		{`{"action":"upsert","contact":{"externalId":"t1","email":"single@example.com"}}`, "updated Twin"},
		{byTwin, "deleted"},
		{byTwin, "failed not_found"},
		{`{"action":"create","contact":{"name":"New","email":"single@example.com"}}`, "created New"},
		{`{"action":"delete","match":"email","contact":{"email":"single@example.com"}}`, "failed ambiguous"},
		{`{"action":"delete","contact":{"externalId":"t1"}}`, "deleted"},
		{`{"action":"delete","match":"email","contact":{"email":"single@example.com"}}`, "deleted"},
		{`{"action":"delete","id":"` + foreign + `"}`, "failed not_found"},
		{`{"action":"delete","contact":{"externalId":"e9"}}`, "failed not_found"},
		{`{"action":"delete","match":"email","contact":{"email":"foreign@example.com"}}`, "failed not_found"},
		{`{"action":"delete"}`, "failed validation_failed contact required"},
		{`{"action":"delete","contact":{"name":"A"}}`, "failed validation_failed externalId required"},
		{`{"action":"delete","id":"x","match":"email"}`, "failed validation_failed match invalid_value"},
		{`{"action":"delete","id":"x","contact":{"name":"A"}}`, "failed validation_failed contact invalid_value"},
	}
	var sent []string
	for _, item := range items {
		sent = append(sent, item.item)
	}
	body := `{"items":[` + strings.Join(sent, ",") + `]}`
	got := client.Do("POST", batchPath, body, "Idempotency-Key", "deletions")
	for i, line := range results(t, got.Body) {
		if line != items[i].want {
			t.Errorf("%s: %q, not %q", items[i].item, line, items[i].want)
		}
	}
	if data := got.Data(); data["deleted"] != 6.0 || data["updated"] != 3.0 || data["created"] != 1.0 || data["failed"] != 13.0 {
		t.Errorf("the counts of %s", got.Body)
	}
	again := client.Do("POST", batchPath, body, "Idempotency-Key", "deletions")
	if again.Header.Get("Idempotency-Replayed") != "true" || again.Data()["deleted"] != 6.0 {
		t.Errorf("a repeat gives %d %s", again.Status, again.Body)
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM contacts", nil); n != 1 {
		t.Errorf("%d contacts are left", n)
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM events WHERE type = 'contact.deleted'", nil); n != 6 {
		t.Errorf("%d deletions have an event", n)
	}
}

// Items fail that the key does not permit, each for itself.
func TestBatchPermissions(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	id := create(t, client, `{"name":"Ada"}`)
	batch := `{"items":[{"action":"create","contact":{"name":"New"}},{"action":"delete","id":"` + id + `"}]`
	only := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:delete"))
	reader := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:read"))
	if got := reader.Do("POST", batchPath, batch+"}"); got.Status != 403 || got.Code() != "insufficient_permission" {
		t.Errorf("a key that reads gets %d %s", got.Status, got.Body)
	}
	if got := client.Do("POST", batchPath, batch+`,"atomic":true}`); got.Status != 400 || got.Code() != "batch_failed" {
		t.Errorf("an atomic batch gives %d %s", got.Status, got.Body)
	}
	for _, tt := range []struct {
		client *testkit.Client
		want   string
	}{
		{client, "[created New failed insufficient_permission]"},
		{only, "[failed insufficient_permission deleted]"},
	} {
		if got := tt.client.Do("POST", batchPath, batch+"}"); fmt.Sprint(results(t, got.Body)) != tt.want {
			t.Errorf("it gives %s, not %s", got.Body, tt.want)
		}
	}
	if got := client.Do("POST", batchPath, `{"items":[{"action":"delete","id":"`+id+`"}]}`); fmt.Sprint(results(t, got.Body)) != "[failed insufficient_permission]" {
		t.Errorf("a batch of one deletion gives %d %s", got.Status, got.Body)
	}
	if got := only.Do("POST", batchPath, `{"items":[{"action":"create","contact":{"name":"A"}}]}`); fmt.Sprint(results(t, got.Body)) != "[failed insufficient_permission]" {
		t.Errorf("a batch of one creation gives %d %s", got.Status, got.Body)
	}
}

// The permission counts at the next request, and a key without any still has the first two.
func TestPermissionToDeleteCountsAtOnce(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	path := contactsPath + "/" + create(t, client, `{"name":"Ada"}`)
	key, err := f.App.FindFirstRecordByData(credential.CollectionName, "tenant", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		permissions []string
		status      int
	}{{everything[:2], 403}, {everything[2:], 204}, {nil, 403}} {
		key.Set("permissions", step.permissions)
		if err := f.App.Save(key); err != nil {
			t.Fatal(err)
		}
		if got := client.Do("DELETE", path, ""); got.Status != step.status {
			t.Errorf("with %v a deletion gives %d %s", step.permissions, got.Status, got.Body)
		}
	}
}
