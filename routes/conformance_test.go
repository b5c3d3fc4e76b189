package routes_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/subscriptions"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/credential"
	"contactbase/internal/testkit"
)

// The tests in this file are named after sentences of the specification that docs/conformance.md lists and no
// other test proves.

// endpoint is one of the four endpoints of the specification.
type endpoint struct{ method, path, body string }

// endpoints returns them, for an existing contact.
func endpoints(t *testing.T, client *testkit.Client) []endpoint {
	t.Helper()
	created := client.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com"}`)
	if created.Status != http.StatusCreated {
		t.Fatalf("creating gives %s", created.Body)
	}
	one := created.Location()
	return []endpoint{
		{"GET", contactsPath, ""},
		{"POST", contactsPath, `{"name":"Bob"}`},
		{"GET", one, ""},
		{"PATCH", one, `{"company":"Engines"}`},
	}
}

// "Every request is authenticated with an API key."
func TestEveryRequestIsAuthenticated(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	guest := testkit.NewClient(t, f.base, "")
	for _, e := range endpoints(t, client) {
		if got := guest.Do(e.method, e.path, e.body); got.Status != 401 || got.Code() != "missing_api_key" {
			t.Errorf("%s %s without a key gives %d %s", e.method, e.path, got.Status, got.Body)
		}
		if got := guest.Do(e.method, e.path, e.body, "X-API-Key", credential.Mint(credential.KeyPrefix)); got.Status != 401 || got.Code() != "invalid_api_key" {
			t.Errorf("%s %s with an unknown key gives %d %s", e.method, e.path, got.Status, got.Body)
		}
		for _, header := range [][]string{{"X-API-Key", client.Header.Get("X-API-Key")}, {"Authorization", "Bearer " + client.Header.Get("X-API-Key")}} {
			if got := guest.Do(e.method, e.path, e.body, header...); got.Status >= 300 {
				t.Errorf("%s %s with %s gives %d %s", e.method, e.path, header[0], got.Status, got.Body)
			}
		}
	}
}

// "The API is a paid feature. Without it a request is refused with 403."
func TestWithoutTheFeatureARequestIsRefusedWith403(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	all := endpoints(t, client)
	all = append(all, endpoint{"POST", newSender(t, f, "full", nil).path, `{"name":"A"}`})
	tenant, err := f.App.FindRecordById("tenants", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Set("apiEnabled", false)
	if err := f.App.Save(tenant); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if got := client.Do(e.method, e.path, e.body); got.Status != 403 || got.Code() != "feature_not_enabled" {
			t.Errorf("%s %s gives %d %s", e.method, e.path, got.Status, got.Body)
		}
	}
}

// "A key that lacks a permission gives 403."
func TestAKeyThatLacksAPermissionGives403(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	reader := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:read"))
	writer := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:write"))
	for _, e := range endpoints(t, client) {
		allowed, refused := reader, writer
		if e.method != "GET" {
			allowed, refused = writer, reader
		}
		if got := refused.Do(e.method, e.path, e.body); got.Status != 403 || got.Code() != "insufficient_permission" {
			t.Errorf("%s %s gives %d %s", e.method, e.path, got.Status, got.Body)
		}
		if got := allowed.Do(e.method, e.path, e.body); got.Status >= 300 {
			t.Errorf("%s %s with the permission gives %d %s", e.method, e.path, got.Status, got.Body)
		}
	}
}

// "Contacts are the only resource exposed. Other resources (companies, deals, tickets) are not offered."
func TestContactsAreTheOnlyResource(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	for _, resource := range []string{"companies", "deals", "tickets", "webhooks", "keys", "contact", "Contacts", "contacts.json"} {
		for _, method := range []string{"GET", "POST", "PATCH", "PUT", "DELETE"} {
			body := ""
			if method != "GET" && method != "DELETE" {
				body = `{"name":"A"}`
			}
			for _, path := range []string{"/api/ext/v1/" + resource, "/api/ext/v1/" + resource + "/x"} {
				if got := client.Do(method, path, body); got.Status != 404 || got.Code() != "not_found" {
					t.Errorf("%s %s gives %d %s", method, path, got.Status, got.Body)
				}
			}
		}
	}
}

// "The version is part of the path prefix: /api/ext/v1."
func TestTheVersionIsPartOfThePathPrefix(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	for _, path := range []string{"/api/ext/v2/contacts", "/api/ext/contacts", "/api/v1/contacts", "/ext/v1/contacts", "/api/ext/V1/contacts"} {
		// not with the client, which validates everything below /api/ext against the description of version 1
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, client.Base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-API-Key", client.Header.Get("X-API-Key"))
		response, err := client.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := testkit.ReadAnswer(t, response); got.Status != 404 {
			t.Errorf("%s gives %d %s", path, got.Status, got.Body)
		}
	}
}

// "Request and response bodies are application/json (UTF-8)."
func TestBodiesAreJSONInUTF8(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	const name = "Ζωή 山田 Ёлка 🧑‍🚀 \\u00e9"
	answers := []*testkit.Answer{
		client.Do("POST", contactsPath, `{"name":"`+name+`"}`, "Content-Type", "application/json; charset=UTF-8"),
		client.Do("GET", contactsPath, "", "Accept", "text/html", "Accept-Charset", "latin1"),
		client.Do("GET", contactsPath+"/unknown", ""),
		client.Do("GET", "/api/ext/v1/nothing", ""),
		client.Do("PUT", contactsPath, "x"),
		testkit.NewClient(t, client.Base, "").Do("GET", contactsPath, ""),
	}
	for _, e := range endpoints(t, client) {
		answers = append(answers, client.Do(e.method, e.path, e.body))
	}
	for i, answer := range answers {
		if got := answer.Header.Get("Content-Type"); got != "application/json" || !utf8.Valid(answer.Body) || answer.JSON() == nil {
			t.Errorf("answer %d is %q: %s", i, got, answer.Body)
		}
	}
	if got := answers[0].Data()["name"]; got != "Ζωή 山田 Ёлка 🧑‍🚀 é" {
		t.Errorf("the name is %q", got)
	}
	if got := client.Do("POST", contactsPath, "{\"name\":\"Zo\xeb\"}"); got.Status != 400 || got.Code() != "invalid_json" {
		t.Errorf("latin1 gives %d %s", got.Status, got.Body)
	}
}

// "{ "data": <object> }", "{ "data": [<object>, ...], "hasMore": <boolean> }", "{ "error": { "code": <string> } }"
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	all := endpoints(t, client)
	for _, e := range all {
		got := client.Do(e.method, e.path, e.body)
		keys := slices.Sorted(maps.Keys(got.JSON()))
		if e.path == contactsPath && e.method == "GET" {
			_, isList := got.JSON()["data"].([]any)
			_, isBool := got.JSON()["hasMore"].(bool)
			if !slices.Equal(keys, []string{"data", "hasMore"}) || !isList || !isBool {
				t.Errorf("a list is %s", got.Body)
			}
			continue
		}
		if !slices.Equal(keys, []string{"data"}) || got.Data() == nil {
			t.Errorf("%s %s gives %s", e.method, e.path, got.Body)
		}
	}
	for _, e := range []endpoint{{"GET", contactsPath + "?limit=x", ""}, {"POST", contactsPath, "x"}, {"GET", contactsPath + "/x", ""}, {"DELETE", contactsPath, ""}} {
		if got := client.Do(e.method, e.path, e.body); got.Code() == "" || !slices.Equal(slices.Collect(maps.Keys(got.JSON())), []string{"error"}) {
			t.Errorf("%s %s gives %s", e.method, e.path, got.Body)
		}
	}
	if empty := client.Do("GET", contactsPath+"?q=nobody", ""); string(empty.Body) != `{"data":[],"hasMore":false}` {
		t.Errorf("an empty list is %s", empty.Body)
	}
}

// "Each list item has id, name, email, phone and company." So do the responses of POST, GET and PATCH.
func TestEachItemHasIDNameEmailPhoneAndCompany(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	want := map[string]any{"name": "Ada", "email": "ada@example.com", "phone": "+442079460001", "company": "Engines"}
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	created := client.Do("POST", contactsPath, string(body))
	path := created.Location()
	items, _ := client.Do("GET", contactsPath, "").JSON()["data"].([]any)
	if len(items) != 1 {
		t.Fatalf("the list is %v", items)
	}
	listed, _ := items[0].(map[string]any)
	for what, object := range map[string]map[string]any{
		"created": created.Data(), "read": client.Do("GET", path, "").Data(), "listed": listed, "updated": client.Do("PATCH", path, "{}").Data(),
	} {
		for field, value := range want {
			if object[field] != value {
				t.Errorf("%s: %s is %v", what, field, object[field])
			}
		}
		if id, _ := object["id"].(string); id == "" || path != contactsPath+"/"+id {
			t.Errorf("%s: the id is %v, the Location %s", what, object["id"], path)
		}
	}
}

// "Only the fields that are sent change; all other fields keep their values."
func TestOnlyTheFieldsThatAreSentChange(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	created := client.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com","phone":"+4420","company":"Engines","externalId":"x"}`)
	path, want := created.Location(), created.Data()
	for field, value := range map[string]any{"name": "Bob", "email": "bob@example.com", "phone": "+4930", "company": nil, "externalId": "y"} {
		body, err := json.Marshal(map[string]any{field: value})
		if err != nil {
			t.Fatal(err)
		}
		got := client.Do("PATCH", path, string(body))
		want[field], want["updatedAt"] = value, got.Data()["updatedAt"]
		if got.Status != 200 || !maps.Equal(got.Data(), want) {
			t.Errorf("%s gives %s, not %v", body, got.Body, want)
		}
	}
	if got := client.Do("PATCH", path, `{}`); got.Status != 200 || !maps.Equal(got.Data(), want) {
		t.Errorf("an empty change gives %s", got.Body)
	}
	if got := client.Do("PATCH", path, `{"name":"C","phone":"wrong"}`); got.Status != 400 || !maps.Equal(client.Do("GET", path, "").Data(), want) {
		t.Errorf("a change with a fault gives %d and changes something: %s", got.Status, got.Body)
	}
}

// "It is bound to the tenant, so data access is restricted to that tenant."
func TestDataAccessIsRestrictedToThatTenant(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	stranger := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other")))
	created := client.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com","phone":"+442079","externalId":"x"}`, "Idempotency-Key", "k")
	client.Do("POST", contactsPath, `{"name":"Bob"}`)
	path := created.Location()
	next := linkTarget(client.Do("GET", contactsPath+"?limit=1", "").Header.Get("Link"))
	for _, query := range []string{"", "?q=ada", "?email=ada@example.com", "?phone=%2B442079", "?externalId=x", "?offset=1", strings.TrimPrefix(next, contactsPath)} {
		if got := stranger.Do("GET", contactsPath+query, ""); string(got.Body) != `{"data":[],"hasMore":false}` {
			t.Errorf("%q gives %s", query, got.Body)
		}
	}
	for _, e := range []endpoint{{"GET", path, ""}, {"PATCH", path, `{"name":"Mallory"}`}} {
		if got := stranger.Do(e.method, e.path, e.body); got.Status != 404 {
			t.Errorf("%s gives %d %s", e.method, got.Status, got.Body)
		}
	}
	// neither an external id nor an idempotency key reveals another tenant's data
	if got := stranger.Do("POST", contactsPath, `{"name":"Eve","externalId":"x"}`, "Idempotency-Key", "k"); got.Status != 201 || got.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("creating gives %d %s", got.Status, got.Body)
	}
	s := newSender(t, f, "full", nil)
	s.expect("ignored:1", `{"email":"eve@example.com","action":"delete"}`)
	if got := client.Do("GET", path, ""); got.Data()["name"] != "Ada" {
		t.Errorf("the contact is %s", got.Body)
	}
}

// "The inbound webhook is authenticated by the <token> in its URL, not by an API key."
func TestTheInboundWebhookIsAuthenticatedByItsToken(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	key := client.Header.Get("X-API-Key")
	s := newSender(t, f, "upsert", nil)
	token := strings.TrimPrefix(s.path, "/api/hooks/")
	s.expect("created:1", `{"name":"A"}`)
	s.expect("created:1", `{"name":"B"}`, "X-API-Key", "nonsense")
	if got := client.Do("POST", "/api/hooks/"+key, `{"name":"C"}`); got.Status != 401 || got.Code() != "invalid_token" {
		t.Errorf("an API key in place of a token gives %d %s", got.Status, got.Body)
	}
	if got := s.Do("GET", contactsPath, "", "X-API-Key", token); got.Status != 401 {
		t.Errorf("a token in place of an API key gives %d %s", got.Status, got.Body)
	}
}

// "limit has a server-side default and a server-side maximum."
func TestLimitHasADefaultAndAMaximum(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	err := f.App.RunInTransaction(func(tx core.App) error {
		for i := range list.MaxLimit + 1 {
			if _, err := testkit.Create(tx, f.tenant, contact.Changes{"name": fmt.Sprintf("N%d", i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{
		"": 50, "?limit=7": 7, "?limit=200": 200, "?limit=201": 200, "?limit=1000000": 200, "?limit=200&offset=200": 1, "?offset=1": 50, "?limit=500&q=n": 200,
	} {
		answer := client.Do("GET", contactsPath+query, "")
		items, _ := answer.JSON()["data"].([]any)
		if more := answer.JSON()["hasMore"]; len(items) != want || more != (want != 1) {
			t.Errorf("%q gives %d contacts, hasMore %v", query, len(items), more)
		}
	}
}

// "Unknown id gives 404", whatever the id looks like.
func TestUnknownIDGives404(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	for _, id := range []string{"x", "0", "null", "%20", "%00", "..%2F..", "a%2Fb", strings.Repeat("a", 15), strings.Repeat("a", 5000), url.PathEscape("' OR '1'='1"), "山"} {
		for _, e := range []endpoint{{"GET", contactsPath + "/" + id, ""}, {"PATCH", contactsPath + "/" + id, `{"name":"A"}`}, {"PATCH", contactsPath + "/" + id, `{"phone":"wrong"}`}} {
			if got := client.Do(e.method, e.path, e.body); got.Status != 404 || got.Code() != "not_found" {
				t.Errorf("%s %.80s gives %d %s", e.method, e.path, got.Status, got.Body)
			}
		}
	}
}

// "Only webhooks deliver live events." PocketBase's realtime endpoint sends nothing to a guest or the holder of a key.
func TestOnlyWebhooksDeliverLiveEvents(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	listen := func(authorization string) (events *bufio.Scanner) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.base+"/api/realtime", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		events = bufio.NewScanner(response.Body)
		connected := nextEvent(t, events)
		id, _, _ := strings.Cut(strings.TrimPrefix(connected, `{"clientId":"`), `"`)
		subscribed := testkit.NewClient(t, f.base, "").Do("POST", "/api/realtime",
			`{"clientId":"`+id+`","subscriptions":["contacts/*","events/*"]}`, "Authorization", authorization)
		if subscribed.Status != http.StatusNoContent {
			t.Fatalf("subscribing gives %d %s", subscribed.Status, subscribed.Body)
		}
		return events
	}
	guest, holder := listen(""), listen("Bearer "+client.Header.Get("X-API-Key"))
	superuser := listen(testkit.SuperuserToken(t, f.App))
	if got := client.Do("POST", contactsPath, `{"name":"Ada Lovelace"}`); got.Status != http.StatusCreated {
		t.Fatalf("creating gives %s", got.Body)
	}
	if got := nextEvent(t, superuser); !strings.Contains(got, "Ada Lovelace") {
		t.Errorf("a superuser gets %s", got)
	}
	for _, listener := range f.App.SubscriptionsBroker().Clients() {
		listener.Send(subscriptions.Message{Name: "last", Data: []byte(`"last"`)})
	}
	for who, events := range map[string]*bufio.Scanner{"a guest": guest, "the holder of a key": holder} {
		if got := nextEvent(t, events); got != `"last"` {
			t.Errorf("%s gets %s", who, got)
		}
	}
}

// nextEvent returns the data of the next event of a stream.
func nextEvent(t *testing.T, events *bufio.Scanner) string {
	t.Helper()
	for events.Scan() {
		if data, ok := strings.CutPrefix(events.Text(), "data:"); ok {
			return data
		}
	}
	t.Fatalf("the stream ended: %v", events.Err())
	return ""
}
