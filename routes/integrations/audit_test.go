package integrations_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"contactbase/internal/testkit"
	"contactbase/internal/wire"
)

const auditPath = "/api/integrations/audit"

// audited returns the tenants of the entries on a page, and the address of the next page.
func audited(got *testkit.Answer) (tenants []string, next string) {
	lines, _ := got.JSON()["data"].([]any)
	for _, line := range lines {
		tenants = append(tenants, line.(map[string]any)["tenant"].(string))
	}
	next, _ = got.JSON()["nextBefore"].(string)
	return tenants, next
}

// Superusers read the entries of all tenants, page by page.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	other := testkit.Tenant(t, f.App, "Other")
	for range 3 {
		testkit.Webhook(t, f.App, other, "https://example.com", "")
	}
	root := newAdmin(t, f)
	all, _ := audited(root.Do("GET", auditPath, ""))
	if own, _ := audited(root.Do("GET", auditPath+"?tenant="+other, "")); len(own) != 4 || len(all) <= len(own) {
		t.Errorf("%d entries, of which %d of one tenant", len(all), len(own))
	}
	var paged []string
	for next := ""; ; {
		path := auditPath + "?limit=2"
		if next != "" {
			path += "&before=" + next
		}
		tenants, more := audited(root.Do("GET", path, ""))
		paged = append(paged, tenants...)
		if next = more; next == "" {
			break
		}
	}
	if fmt.Sprint(paged) != fmt.Sprint(all) {
		t.Errorf("the pages have %v, the whole list %v", paged, all)
	}
	lines := root.Do("GET", auditPath+"?limit=1", "").JSON()["data"].([]any)
	if line := lines[0].(map[string]any); line["recordName"] != "https://example.com" || line["actorKind"] != "system" {
		t.Errorf("the last entry is %v", line)
	}
	for _, query := range []string{"limit=0", "limit=x", "before=x", "before='%20OR%201=1", "action=x", "since=yesterday", "until=x", "format=xml"} {
		if got := root.Do("GET", auditPath+"?"+query, ""); got.Status != http.StatusBadRequest || got.Code() != "invalid_parameter" {
			t.Errorf("%s gives %d %s", query, got.Status, got.Body)
		}
	}
}

// An admin member reads the entries of their own tenant, and nobody else's.
func TestAuditOfMembers(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	other := testkit.Tenant(t, f.App, "Other")
	testkit.Webhook(t, f.App, other, "https://example.com", "")
	as := func(role string) *testkit.Client {
		record := testkit.Record(t, f.App, "tenant_members", map[string]any{
			"tenant": f.tenant, "role": role, "email": role + "@example.com", "password": "a long password",
		})
		token, err := record.NewAuthToken()
		if err != nil {
			t.Fatal(err)
		}
		member := testkit.NewClient(t, f.base, "")
		member.Header.Set("Authorization", token)
		return member
	}
	admin, viewer := as("admin"), as("viewer")
	root := newAdmin(t, f)
	if got := root.Do("PATCH", "/api/collections/tenants/records/"+f.tenant, `{"name":"Renamed"}`); got.Status != 200 {
		t.Fatalf("renaming the tenant gives %d %s", got.Status, got.Body)
	}
	const operator = "root@example.com"
	if got := root.Do("GET", auditPath+"?tenant="+f.tenant, ""); !strings.Contains(string(got.Body), operator) {
		t.Errorf("a superuser does not see who renamed the tenant: %s", got.Body)
	}
	if got := admin.Do("GET", auditPath, ""); !strings.Contains(string(got.Body), `"actorKind":"superuser"`) || strings.Contains(string(got.Body), operator) {
		t.Errorf("a member sees %s", got.Body)
	}
	for _, query := range []string{"", "?tenant=" + f.tenant, "?limit=200"} {
		tenants, _ := audited(admin.Do("GET", auditPath+query, ""))
		if len(tenants) == 0 {
			t.Errorf("%q: an admin sees nothing", query)
		}
		for _, id := range tenants {
			if id != f.tenant {
				t.Errorf("%q: an admin sees an entry of the tenant %q", query, id)
			}
		}
	}
	user := testkit.Record(t, f.App, "users", map[string]any{"email": "u@example.com", "password": "a long password"})
	token, err := user.NewAuthToken()
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		got    *testkit.Answer
		status int
		code   string
	}{
		"another tenant": {admin.Do("GET", auditPath+"?tenant="+other, ""), http.StatusNotFound, "not_found"},
		"a viewer":       {viewer.Do("GET", auditPath, ""), http.StatusForbidden, "insufficient_permission"},
		"a user":         {testkit.NewClient(t, f.base, "").Do("GET", auditPath, "", "Authorization", token), http.StatusForbidden, "forbidden"},
		"a key":          {client.Do("GET", auditPath, ""), http.StatusUnauthorized, "unauthorized"},
	} {
		if test.got.Status != test.status || test.got.Code() != test.code {
			t.Errorf("%s gets %d %s", what, test.got.Status, test.got.Body)
		}
	}
}

// A member who was removed keeps a name, in the entry about the removal and in those before.
func TestAuditOfRemovedMember(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	root := newAdmin(t, f)
	id := testkit.Record(t, f.App, "tenant_members", map[string]any{
		"tenant": f.tenant, "role": "admin", "email": "ada@example.com", "password": "a long password",
	}).Id
	signIn := testkit.NewClient(t, f.base, "").Do("POST", "/api/collections/tenant_members/auth-with-password", `{"identity":"ada@example.com","password":"a long password"}`)
	removed := root.Do("DELETE", "/api/collections/tenant_members/records/"+id, "")
	if signIn.Status != 200 || removed.Status != 204 {
		t.Fatalf("signing in gives %d, removing %d", signIn.Status, removed.Status)
	}
	about := 0
	for _, line := range root.Do("GET", auditPath+"?tenant="+f.tenant, "").JSON()["data"].([]any) {
		if entry := line.(map[string]any); entry["record"] == id {
			about++
			if entry["recordName"] != "ada@example.com" {
				t.Errorf("an entry is %v", entry)
			}
		}
	}
	if about != 3 {
		t.Errorf("%d entries are about the member", about)
	}
}

// Sending again and importing have an entry with the tenant of the record.
func TestAuditOfRoutes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	root := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://example.com", "")
	delivery := testkit.DeliveryOf(t, f.App, testkit.Emit(t, f.App, f.tenant, "", "contact.created")).ID
	for _, step := range []struct{ path, body, action, record string }{
		{"deliveries/" + delivery + "/redeliver", "", "redelivered", delivery},
		{"webhooks/" + webhook + "/recover", `{"since":"2020-01-01T00:00:00Z"}`, "recovered", webhook},
	} {
		root.Do("POST", "/api/integrations/"+step.path, step.body)
		line := root.Do("GET", auditPath+"?limit=1&tenant="+f.tenant, "").JSON()["data"].([]any)[0].(map[string]any)
		if line["action"] != step.action || line["record"] != step.record || line["actorName"] != "root@example.com" {
			t.Errorf("%s makes the entry %v", step.path, line)
		}
	}
	stored := root.Do("POST", "/api/integrations/imports?tenant="+f.tenant, "name,email\nAda,ada@example.com\n", "Content-Type", "text/csv").Data()["id"].(string)
	root.Do("POST", "/api/integrations/imports/"+stored+"/start", `{"mapping":["name","email"],"match":"email"}`)
	// which has begun
	root.Do("POST", "/api/integrations/imports/"+stored+"/start", `{"mapping":["name","email"],"match":"email"}`)
	lines := root.Do("GET", auditPath+"?limit=2&tenant="+f.tenant, "").JSON()["data"].([]any)
	if first, second := lines[0].(map[string]any), lines[1].(map[string]any); first["action"] != "imported" || first["record"] != stored || second["action"] != "recovered" {
		t.Errorf("an import makes the entries %v", lines)
	}
}

// An entry has old and new values, the number of what it is about, and the name of a file. Filters and CSV have them, too.
func TestAuditOfChanges(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	root := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://x.example/secret/path", "")
	testkit.Emit(t, f.App, f.tenant, "", "contact.created")
	if got := root.Do("PATCH", "/api/collections/webhooks/records/"+webhook, `{"url":"https://y.example/?q=secret","maxPerSecond":7}`); got.Status != 200 {
		t.Fatalf("changing the webhook gives %d %s", got.Status, got.Body)
	}
	line := func(query string) string {
		t.Helper()
		got, err := wire.AppendJSON(nil, root.Do("GET", auditPath+"?limit=1&tenant="+f.tenant+query, "").JSON()["data"].([]any)[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	got := line("&collection=webhooks&action=updated")
	for _, want := range []string{
		`"maxPerSecond":{"new":7,"old":0}`, `"url":{"new":"https://y.example/…","old":"https://x.example/sec…"}`, `"recordName":"https://y.example/…"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("without %s: %s", want, got)
		}
	}
	root.Do("POST", "/api/integrations/webhooks/"+webhook+"/recover", `{"since":"2020-01-01T00:00:00Z","before":true,"retryPending":true}`)
	if got := line("&action=recovered"); !strings.Contains(got, `"count":1,`) {
		t.Errorf("a recovery has no number: %s", got)
	}
	stored := root.Do("POST", "/api/integrations/imports?name=people.csv&tenant="+f.tenant, "name,email\nAda,ada@example.com\n", "Content-Type", "text/csv").Data()["id"].(string)
	root.Do("POST", "/api/integrations/imports/"+stored+"/start", "{}")
	if got := line("&action=imported&actor=superuser"); !strings.Contains(got, `"recordName":"people.csv"`) {
		t.Errorf("an import has no name: %s", got)
	}
	name := testkit.Record(t, f.App, "api_keys", map[string]any{"tenant": f.tenant, "name": "=1+1", "permissions": []string{"contacts:read"}}).Id
	csv := root.Do("GET", auditPath+"?format=csv&limit=1&tenant="+f.tenant, "")
	if lines := strings.Count(string(csv.Body), "\n"); lines < 5 || csv.Header.Get("Content-Type") != "text/csv; charset=utf-8" ||
		!strings.Contains(string(csv.Body), "created,tenant,actorKind,") || !strings.Contains(string(csv.Body), name+",'=1+1,") {
		t.Errorf("as CSV: %v %s", csv.Header, csv.Body)
	}
}
