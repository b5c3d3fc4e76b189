package routes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/testkit"
)

const batchPath = "/api/ext/v1/contacts/batch"

// events returns the kinds of a contact's events, oldest first.
func events(t *testing.T, f *fixture, contactID string) string {
	t.Helper()
	var kinds []string
	if err := f.App.DB().Select("type").From("events").Where(dbx.HashExp{"contact": contactID}).OrderBy("rowid").Column(&kinds); err != nil {
		t.Fatal(err)
	}
	return strings.Join(kinds, " ")
}

// results returns the result of each item, one per line.
func results(t *testing.T, body []byte) []string {
	t.Helper()
	type result struct {
		Index   int
		Status  string
		Contact struct{ Name string }
		Error   struct {
			Code   string
			Fields map[string]struct{ Code string }
		}
	}
	var answer struct {
		Data  struct{ Results []result }
		Error struct{ Results []result }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var lines []string
	for i, r := range append(answer.Data.Results, answer.Error.Results...) {
		if r.Index != i {
			t.Errorf("the result %d has the index %d", i, r.Index)
		}
		line := strings.TrimSpace(r.Status + " " + r.Contact.Name + r.Error.Code)
		for name, field := range r.Error.Fields {
			if name != "email" {
				line += " " + name + " " + field.Code
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func item(action, rest, fields string) string {
	return fmt.Sprintf(`{"action":%q,%s"contact":{%s}}`, action, rest, fields)
}

func batchOf(items ...string) string { return `{"items":[` + strings.Join(items, ",") + `]}` }

// Each item sees those before it, and a failed item does not affect the others.
func TestBatch(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	old, _ := client.Do("POST", "/api/ext/v1/contacts", `{"name":"Old","email":"Old@example.com","externalId":"old"}`).Data()["id"].(string)
	foreign := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other")))
	strange, _ := foreign.Do("POST", "/api/ext/v1/contacts", `{"name":"Strange","externalId":"strange"}`).Data()["id"].(string)
	steps := []struct{ item, want string }{
		{item("create", "", `"name":"New"`), "created New"},
		{item("update", `"id":"`+old+`",`, `"name":"Older"`), "updated Older"},
		{item("update", `"id":"`+old+`",`, `"name":"Older"`), "unchanged Older"},
		{item("upsert", "", `"externalId":"old","name":"Oldest"`), "updated Oldest"},
		{item("upsert", `"match":"email",`, `"email":"OLD@EXAMPLE.COM","name":"Eldest"`), "updated Eldest"},
		{item("upsert", `"match":"externalId",`, `"externalId":"fresh","name":"Fresh"`), "created Fresh"},
		{item("upsert", "", `"externalId":"fresh","name":"Fresher"`), "updated Fresher"},
		{item("create", "", `"name":"Twin","externalId":"fresh"`), "failed validation_failed externalId duplicate_external_id"},
		{item("upsert", `"match":"email",`, `"email":"b@example.com","name":"B"`), "created B"},
		{item("upsert", `"match":"email",`, `"email":"B@example.com","name":"C"`), "updated C"},
		{item("create", "", `"phone":"1"`), "failed validation_failed phone invalid_phone"},
		{item("create", "", ``), "failed validation_failed name required"},
		{item("update", `"id":"`+strange+`",`, `"name":"Mine"`), "failed not_found"},
		{item("upsert", "", `"externalId":"strange","name":"Mine"`), "created Mine"},
		{item("update", "", `"name":"X"`), "failed validation_failed id required"},
		{item("upsert", "", `"name":"X"`), "failed validation_failed externalId required"},
		{item("create", `"match":"email",`, `"name":"X"`), "failed validation_failed match invalid_value"},
		{item("create", `"id":"x",`, `"name":"X"`), "failed validation_failed id invalid_value"},
		{item("create", "", `"name":"Last"`), "created Last"},
	}
	var items, want []string
	for _, step := range steps {
		items, want = append(items, step.item), append(want, step.want)
	}
	answer := client.Do("POST", batchPath, batchOf(items...))
	if answer.Status != http.StatusOK {
		t.Fatalf("got %d %s", answer.Status, answer.Body)
	}
	for i, got := range results(t, answer.Body) {
		if got != want[i] {
			t.Errorf("%s: %s instead of %s", items[i], got, want[i])
		}
	}
	data := answer.Data()
	if got := fmt.Sprint(data["created"], data["updated"], data["unchanged"], data["failed"]); got != "5 5 1 8" {
		t.Errorf("the counts are %s", got)
	}
	if got := events(t, f, old); got != "contact.created contact.updated contact.updated contact.updated" {
		t.Errorf("there are the events %s", got)
	}
}

// An unreadable item fails like any other.
func TestBatchWithUnreadableItems(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	steps := []struct{ item, want string }{
		{item("update", `"id":7,`, `"name":"X"`), "failed validation_failed id required"},
		{item("upsert", `"match":"name",`, `"name":"X"`), "failed validation_failed match invalid_value"},
		{item("remove", "", `"name":"X"`), "failed invalid_action"},
		{item("create", `"note":1,`, `"name":"X"`), "failed validation_failed note unknown_field"},
		{`{"action":"create"}`, "failed validation_failed contact required"},
		{`{"action":"delete","id":"x","contact":7}`, "failed validation_failed contact required"},
		{`{"action":"delete","id":7}`, "failed validation_failed id required"},
		{`{"action":"delete","match":"phone","contact":{"phone":"+49301"}}`, "failed validation_failed match invalid_value"},
		{`7`, "failed validation_failed"},
	}
	var items, want []string
	for _, step := range steps {
		items, want = append(items, step.item), append(want, step.want)
	}
	// atomic, so that the response is an error: the document allows any request for it
	answer := client.Do("POST", batchPath, `{"atomic":true,`+batchOf(items...)[1:])
	if got := results(t, answer.Body); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestBatchThatIsRefused(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	many := strings.Repeat(`{"action":"create","contact":{"name":"A"}},`, 1001)
	for _, tc := range []struct {
		name, body string
		status     int
		code       string
		field      string
		fieldCode  string
	}{
		{"nothing", `{}`, 400, "validation_failed", "items", "required"},
		{"no items", `{"items":[]}`, 400, "validation_failed", "items", "invalid_value"},
		{"an object", `{"items":{}}`, 400, "validation_failed", "items", "invalid_value"},
		{"too many", `{"items":[` + many[:len(many)-1] + `]}`, 400, "validation_failed", "items", "invalid_value"},
		{"atomic as a text", `{"items":[{}],"atomic":"yes"}`, 400, "validation_failed", "atomic", "invalid_value"},
		{"unknown", `{"items":[{}],"dryRun":true}`, 400, "validation_failed", "dryRun", "unknown_field"},
		{"a list", `[]`, 400, "invalid_json", "", ""},
		{"too large", `{"items":["` + strings.Repeat("a", 4<<20) + `"]}`, 413, "payload_too_large", "", ""},
	} {
		answer := client.Do("POST", batchPath, tc.body)
		if answer.Status != tc.status || answer.Code() != tc.code || tc.field != "" && answer.FieldCode(tc.field) != tc.fieldCode {
			t.Errorf("%s: got %d %.300s", tc.name, answer.Status, answer.Body)
		}
	}
	reader := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:read"))
	if answer := reader.Do("POST", batchPath, batchOf(item("create", "", `"name":"A"`))); answer.Code() != "insufficient_permission" {
		t.Errorf("a key that may read gets %d %s", answer.Status, answer.Body)
	}
}

// Either all items are written or none.
func TestAtomicBatch(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	body := `{"atomic":true,` + batchOf(item("create", "", `"name":"A"`), item("create", "", `"company":"B"`), item("create", "", `"name":"C"`))[1:]
	answer := client.Do("POST", batchPath, body, "Idempotency-Key", "k")
	if got := fmt.Sprint(results(t, answer.Body)); answer.Status != http.StatusBadRequest || answer.Code() != "batch_failed" ||
		got != "[unchanged failed validation_failed name required unchanged]" {
		t.Errorf("got %d %s", answer.Status, answer.Body)
	}
	if left := client.Do("GET", "/api/ext/v1/contacts", ""); string(left.Body) != `{"data":[],"hasMore":false}` {
		t.Errorf("there is %s", left.Body)
	}
	body = strings.Replace(body, "company", "name", 1)
	if answer := client.Do("POST", batchPath, body, "Idempotency-Key", "k"); fmt.Sprint(results(t, answer.Body)) != "[created A created B created C]" {
		t.Errorf("got %d %s", answer.Status, answer.Body)
	}
}

// A repeat gets the results of the first request with the contacts' current values, so that nothing of an
// erased one is kept.
func TestBatchIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	body := batchOf(item("create", "", `"name":"Ada"`), item("create", "", `"name":"Grace"`), item("create", "", ``))
	first := client.Do("POST", batchPath, body, "Idempotency-Key", "k")
	if again := client.Do("POST", batchPath, body, "Idempotency-Key", "k"); string(again.Body) != string(first.Body) || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %d %s instead of %s", again.Status, again.Body, first.Body)
	}
	for _, body := range []string{batchOf(item("create", "", `"name":"Zoe"`)), `{"items":[]}`} {
		if other := client.Do("POST", batchPath, body, "Idempotency-Key", "k"); other.Code() != "idempotency_key_reused" {
			t.Errorf("%s gets %d %s", body, other.Status, other.Body)
		}
	}
	record, err := f.App.FindFirstRecordByData("contacts", "name", "Ada")
	if err == nil {
		err = f.App.Delete(record)
	}
	if err != nil {
		t.Fatal(err)
	}
	again := client.Do("POST", batchPath, body, "Idempotency-Key", "k")
	if got := fmt.Sprint(results(t, again.Body)); got != "[created created Grace failed validation_failed name required]" {
		t.Errorf("after an erasure the answer is %s", again.Body)
	}
	var kept string
	if err := f.App.DB().NewQuery("SELECT group_concat([[body]]) FROM {{_idempotency}}").Row(&kept); err != nil || kept == "" || strings.Contains(kept, "Ada") || strings.Contains(kept, "Grace") {
		t.Errorf("what is kept of it is %s, %v", kept, err)
	}
}

// A batch of 1,000 items takes the whole burst of a key.
func TestLargestBatch(t *testing.T) {
	t.Parallel()
	client, f := newStoppedAPI(t)
	items := slices.Repeat([]string{`{"action":"create","contact":{"name":"Ada"}}`}, 1000)
	if answer := client.Do("POST", batchPath, batchOf(items...)); answer.Status != http.StatusOK || strings.Count(string(answer.Body), `"created"`) < 1000 {
		t.Errorf("1,000 items get %d %.200s", answer.Status, answer.Body)
	}
	another := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant))
	if answer := another.Do("POST", batchPath, batchOf(append(items, items[0])...)); answer.Code() != "validation_failed" {
		t.Errorf("1,001 items get %d %.200s", answer.Status, answer.Body)
	}
}

// Ten items cost one request. A batch over the key's burst is rejected; one below it is not.
func TestBatchSpendsTheLimit(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	// a burst of 10
	update := f.App.DB().Update("tenants", dbx.Params{"rateLimit": 60}, dbx.HashExp{"id": f.tenant})
	if _, err := update.Execute(); err != nil {
		t.Fatal(err)
	}
	client := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant))
	items := func(n int) string {
		return batchOf(strings.Split(strings.Repeat(`{"action":"create","contact":{"name":"A"}};`, n), ";")[:n]...)
	}
	for n, want := range map[int]string{101: "payload_too_large", 111: "payload_too_large", 1000: "payload_too_large", 1001: "validation_failed"} {
		answer := client.Do("POST", batchPath, items(n))
		if answer.Code() != want || want == "payload_too_large" && (answer.Status != http.StatusRequestEntityTooLarge || !strings.Contains(string(answer.Body), "at most 100 items")) {
			t.Errorf("%d items get %d %.200s", n, answer.Status, answer.Body)
		}
	}
	if answer := client.Do("POST", batchPath, "nonsense"); answer.Status != http.StatusBadRequest {
		t.Errorf("nonsense gets %d %.200s", answer.Status, answer.Body)
	}
	// each of those five has cost one request
	if answer := client.Do("POST", batchPath, items(100)); answer.Code() != "rate_limited" || answer.Header.Get("Retry-After") != "5" {
		t.Errorf("100 items get %d, Retry-After %q, %.200s", answer.Status, answer.Header.Get("Retry-After"), answer.Body)
	}
	if answer := client.Do("POST", batchPath, items(41)); answer.Status != http.StatusOK {
		t.Errorf("41 items get %d %.200s", answer.Status, answer.Body)
	}
	if answer := client.Do("GET", "/api/ext/v1/contacts", ""); answer.Code() != "rate_limited" {
		t.Errorf("after 10 requests there is %d %.200s", answer.Status, answer.Body)
	}
	for _, body := range []string{items(111), "nonsense", items(1)} {
		if answer := client.Do("POST", batchPath, body); answer.Status != http.StatusTooManyRequests {
			t.Errorf("after 10 requests %.40s gets %d %.200s", body, answer.Status, answer.Body)
		}
	}
}
