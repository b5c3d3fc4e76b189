package integrations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/testkit"
)

// An inspector gets its events like any webhook: in order, signed, verified and recorded.
func TestInspectedWebhook(t *testing.T) {
	t.Parallel()
	app := testkit.NewDeliveringApp(t)
	f := &fixture{App: app, base: testkit.Serve(t, app), tenant: testkit.Tenant(t, app, "Acme")}
	client, admin := testkit.NewClient(t, f.base, testkit.Key(t, app, f.tenant)), newAdmin(t, f)
	webhook := testkit.Record(t, app, "webhooks", map[string]any{
		"tenant": f.tenant, "url": "inspect:", "headers": map[string]string{"X-Team": "a secret of ours"},
	}).Id
	inspect := func(after string) []any {
		t.Helper()
		answer := admin.Do("GET", "/api/integrations/webhooks/"+webhook+"/inspected?after="+after, "")
		if answer.Status != http.StatusOK || strings.Contains(string(answer.Body), "a secret of ours") {
			t.Fatalf("it answers %d %s", answer.Status, answer.Body)
		}
		return answer.JSON()["data"].([]any)
	}

	created := client.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com"}`).Data()["id"]
	client.Do("PATCH", fmt.Sprint(contactsPath, "/", created), `{"company":"Engines"}`)
	testkit.Eventually(t, "both events", func() bool { return len(inspect("")) == 2 })
	requests := inspect("")
	for i, kind := range []string{"contact.created", "contact.updated"} {
		request := requests[i].(map[string]any)
		headers, body := request["headers"].(map[string]any), struct{ Type string }{}
		if err := json.Unmarshal([]byte(request["body"].(string)), &body); err != nil || body.Type != kind || headers["X-Event"] != kind ||
			request["error"] != nil || request["contact"] != created || len(headers["X-Signature"].(string)) != 64 || headers["X-Team"] != "[redacted]" {
			t.Errorf("request %d is %v (%v)", i, request, err)
		}
	}
	for _, id := range []string{"nosuchwebhook01", f.tenant} {
		if got := admin.Do("GET", "/api/integrations/webhooks/"+id+"/inspected", ""); got.Status != http.StatusNotFound || got.Code() != "not_found" {
			t.Errorf("a webhook that does not exist gives %d %s", got.Status, got.Body)
		}
	}
	if behind := inspect(requests[0].(map[string]any)["id"].(string)); len(behind) != 1 {
		t.Errorf("behind the first there are %v", behind)
	}

	attempt := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/ping", "").Data()
	if attempt["status"] != 204.0 || len(inspect("")) != 3 {
		t.Errorf("the test event gives %v, then there are %d requests", attempt, len(inspect("")))
	}
	testkit.Execute(t, app, "UPDATE delivery_attempts SET started = '2020-01-01 00:00:00.000Z' WHERE number = 1 AND id = {:id}",
		dbx.Params{"id": requests[0].(map[string]any)["id"]})
	if left := inspect(""); len(left) != 2 {
		t.Errorf("there are %d requests of the last day", len(left))
	}
}

// The latest 100 requests are shown, including an older delivery that was sent again.
func TestInspectedAreTheLatest(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "inspect:", "")
	testkit.Execute(t, f.App, `INSERT INTO deliveries (id, event, webhook, tenant, status, created, updated)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
		SELECT printf('d%014d', i), printf('e%014d', i), {:webhook}, {:tenant}, 'delivered', printf('2026-01-01 00:00:00.%03dZ', i),
			printf('2026-01-01 00:00:%02d.%03dZ', i = 7, i) FROM n`, dbx.Params{"webhook": webhook, "tenant": f.tenant})
	testkit.Execute(t, f.App, `INSERT INTO events (id, tenant, type, payload) SELECT event, tenant, 'contact.created', '{}' FROM deliveries`, nil)
	testkit.Execute(t, f.App, `INSERT INTO delivery_attempts (id, delivery, number, started, requestHeaders)
		SELECT 'a' || substr(id, 2), id, 1, strftime('%Y-%m-%d %H:%M:%fZ'), '{}' FROM deliveries`, nil)
	list := admin.Do("GET", "/api/integrations/webhooks/"+webhook+"/inspected", "").JSON()["data"].([]any)
	if len(list) != 100 || list[0].(map[string]any)["delivery"] != "d00000000000007" || list[1].(map[string]any)["delivery"] != "d00000000000052" ||
		list[99].(map[string]any)["delivery"] != "d00000000000150" {
		t.Errorf("there are %d, from %v", len(list), list[:2])
	}
}

// Nobody can send to it, and only superusers can read it.
func TestInspectorAcceptsNoRequests(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	webhook := testkit.Webhook(t, f.App, f.tenant, "inspect:", "")
	path := "/api/integrations/webhooks/" + webhook + "/inspected"
	if got := client.Do("GET", path, ""); got.Status != http.StatusUnauthorized {
		t.Errorf("a key gets %d %s", got.Status, got.Body)
	}
	if got := newAdmin(t, f).Do("POST", path, `{}`); got.Status != http.StatusMethodNotAllowed {
		t.Errorf("a superuser sends, and gets %d %s", got.Status, got.Body)
	}
}
