package routes_test

import (
	"strings"
	"testing"

	"contactbase/internal/move"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// moving is an installation with one tenant that is closed for writes, and another that is not.
type moving struct {
	t             *testing.T
	f             *fixture
	client, admin *testkit.Client
	paths         *strings.Replacer // of ids
}

func newMoving(t *testing.T) *moving {
	t.Helper()
	client, f := newAPI(t)
	token := testkit.Inbound(t, f.App, f.tenant, "full", nil)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://hooks.example.com", "")
	contact := client.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com","externalId":"1"}`).Data()["id"].(string)
	if got := client.Do("POST", "/api/hooks/"+token, `{"name":"Grace"}`); got.Status != 200 {
		t.Fatalf("an inbound call is answered %d %s", got.Status, got.Body)
	}
	testkit.FanOut(t, f.App)
	admin := testkit.NewClient(t, f.base, "")
	admin.Header.Set("Authorization", testkit.SuperuserToken(t, f.App))
	id := func(table string) string {
		var id string
		if err := f.App.DB().Select("id").From(table).Limit(1).Row(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	return &moving{t: t, f: f, client: client, admin: admin, paths: strings.NewReplacer(
		"{contact}", contact, "{token}", token, "{webhook}", webhook, "{tenant}", f.tenant, "{key}", id("api_keys"), "{inbound}", id("inbound_webhooks"),
		"{request}", id("inbound_requests"), "{delivery}", id("deliveries"),
	)}
}

func (m *moving) freeze() {
	m.t.Helper()
	if changed, err := move.Freeze(m.t.Context(), m.f.App, testkit.Deliveries(m.f.App), m.f.tenant); err != nil || !changed {
		m.t.Fatal(changed, err)
	}
}

// refused sends a request that must get 503 and change nothing.
func (m *moving) refused(client *testkit.Client, method, path, body string, header ...string) {
	m.t.Helper()
	const rows = "SELECT (SELECT count(*) FROM contacts) + 100 * (SELECT count(*) FROM events) + 10000 * (SELECT count(*) FROM inbound_requests) + " +
		"1000000 * (SELECT count(*) FROM deliveries) + 100000000 * (SELECT count(*) FROM webhooks)"
	before := testkit.Count(m.t, m.f.App, rows, nil)
	got := client.Do(method, m.paths.Replace(path), m.paths.Replace(body), header...)
	if got.Status != 503 || got.Header.Get("Retry-After") != "5" || !strings.Contains(string(got.Body), "moving to another installation") {
		m.t.Errorf("%s %s is answered %d, Retry-After %q: %s", method, path, got.Status, got.Header.Get("Retry-After"), got.Body)
	}
	if strings.HasPrefix(path, "/api/ext/") && got.Code() != "tenant_moving" {
		m.t.Errorf("%s %s has the code %q", method, path, got.Code())
	}
	if after := testkit.Count(m.t, m.f.App, rows, nil); after != before {
		m.t.Errorf("%s %s wrote something: %d, before %d", method, path, after, before)
	}
}

// A moving tenant accepts no writes from any interface. It stays readable, and is open again after unfreezing.
func TestFrozenTenantTakesNoWrites(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	events := openStream(t, testkit.NewClient(t, m.f.base, m.client.Header.Get("X-API-Key")), "")
	m.freeze()
	for event := range events {
		t.Errorf("there is an event: %+v", event)
	}
	for _, tc := range [][3]string{
		{"POST", contactsPath, `{"name":"New"}`},
		{"PATCH", contactsPath + "/{contact}", `{"name":"New"}`},
		{"PUT", contactsPath + "/by-external-id/2", `{"name":"New"}`},
		{"POST", contactsPath + "/batch", `{"items":[{"action":"create","contact":{"name":"New"}}]}`},
		{"POST", "/api/hooks/{token}", `{"name":"New"}`},
		{"POST", "/api/hooks/{token}", `no JSON`},
	} {
		m.refused(m.client, tc[0], tc[1], tc[2])
	}
	m.refused(m.client, "GET", eventsPath, "", "Accept", "text/event-stream")
	m.admins()
	m.models()
	if got := m.admin.Do("GET", m.paths.Replace("/api/integrations/tenants/counts?ids={tenant}"), ""); !strings.Contains(string(got.Body), `"state":"frozen"`) {
		t.Errorf("the dashboard is told %s", got.Body)
	}
	for _, path := range []string{contactsPath, contactsPath + "/{contact}", eventsPath + "?after="} {
		if got := m.client.Do("GET", m.paths.Replace(path), ""); got.Status != 200 {
			t.Errorf("GET %s is answered %d", path, got.Status)
		}
	}
	other := testkit.NewClient(t, m.f.base, testkit.Key(t, m.f.App, testkit.Tenant(t, m.f.App, "Other")))
	if got := other.Do("POST", contactsPath, `{"name":"New"}`); got.Status != 201 {
		t.Errorf("another tenant's write is answered %d", got.Status)
	}
	if changed, err := tenant.Unfreeze(m.f.App, m.f.tenant); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if got := m.client.Do("POST", contactsPath, `{"name":"New"}`); got.Status != 201 {
		t.Errorf("after unfreezing, a write is answered %d", got.Status)
	}
}

// admins makes a superuser write.
func (m *moving) admins() {
	m.t.Helper()
	for _, tc := range [][3]string{
		{"POST", "/api/collections/contacts/records", `{"tenant":"{tenant}","name":"New"}`},
		{"PATCH", "/api/collections/contacts/records/{contact}", `{"name":"New"}`},
		{"DELETE", "/api/collections/contacts/records/{contact}", ""},
		{"PATCH", "/api/collections/tenants/records/{tenant}", `{"name":"New"}`},
		{"POST", "/api/collections/api_keys/records", `{"tenant":"{tenant}","name":"New"}`},
		{"PATCH", "/api/collections/api_keys/records/{key}", `{"name":"New"}`},
		{"PATCH", "/api/collections/webhooks/records/{webhook}", `{"disabled":true}`},
		{"DELETE", "/api/collections/webhooks/records/{webhook}", ""},
		{"DELETE", "/api/collections/inbound_webhooks/records/{inbound}", ""},
		{"POST", "/api/integrations/webhooks/{webhook}/ping", ""},
		{"POST", "/api/integrations/webhooks/{webhook}/rotate", ""},
		{"POST", "/api/integrations/webhooks/{webhook}/recover", `{"since":"2026-01-01T00:00:00Z"}`},
		{"POST", "/api/integrations/deliveries/{delivery}/redeliver", ""},
		{"POST", "/api/integrations/keys/{key}/rotate", ""},
		{"POST", "/api/integrations/inbound/{inbound}/rotate", ""},
		{"POST", "/api/integrations/inbound/requests/{request}/replay", ""},
	} {
		m.refused(m.admin, tc[0], tc[1], tc[2])
	}
	m.refused(m.admin, "POST", "/api/integrations/imports?tenant={tenant}&name=x.csv", "name\nNew", "Content-Type", "text/csv")
}

// models makes a language model write.
func (m *moving) models() {
	m.t.Helper()
	got := m.client.Do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_contact","arguments":{"name":"New"}}}`,
		"Accept", "application/json, text/event-stream")
	if got.Status != 200 || !strings.Contains(string(got.Body), "moving to another installation") {
		m.t.Errorf("a model is answered %d %s", got.Status, got.Body)
	}
}

// A tenant that is being imported is not served.
func TestArrivingTenantIsNotServed(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	testkit.Execute(t, m.f.App, "INSERT INTO _moves (tenant, state, created) VALUES ('"+m.f.tenant+"', 'arriving', '')", nil)
	m.refused(m.client, "GET", contactsPath, "")
	m.refused(m.client, "GET", eventsPath, "")
	m.refused(m.client, "POST", contactsPath, `{"name":"New"}`)
	m.refused(m.client, "POST", "/api/hooks/{token}", `{"name":"New"}`)
	m.refused(m.client, "GET", "/api/hooks/{token}", "")
}
