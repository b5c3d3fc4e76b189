package integrations_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

func TestOnlySuperusersSeeTheOverviews(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	for _, path := range []string{"webhooks/health?ids=x", "tenants/counts?ids=x", "deliveries?webhook=x", "inbound/presets",
		"overview", "webhooks/x/activity", "keys/x/activity", "deliveries/x"} {
		if got := client.Do("GET", "/api/integrations/"+path, ""); got.Status != 401 || got.Code() != "unauthorized" {
			t.Errorf("%s gives %d %s", path, got.Status, got.Body)
		}
	}
}

// history saves deliveries of a webhook, one per status, a minute apart, the last one from when the test began.
func history(t *testing.T, f *fixture, webhook, contact string, states ...string) {
	t.Helper()
	for i, state := range states {
		at := f.began.Add(-time.Duration(len(states)-1-i) * time.Minute).UTC().Format("2006-01-02 15:04:05.000Z")
		eventID := testkit.Write(t, f.App, f.tenant, contact, event.ContactCreated)
		delivery := testkit.Record(t, f.App, "deliveries", map[string]any{
			"event": eventID, "webhook": webhook, "tenant": f.tenant, "status": state, "attempts": 1,
		})
		_, err := f.App.DB().NewQuery("UPDATE deliveries SET created = {:at} WHERE id = {:id}").
			Bind(map[string]any{"at": at, "id": delivery.Id}).Execute()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOverviews(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	busy := testkit.Webhook(t, f.App, f.tenant, "https://example.com/busy", "")
	idle := testkit.Webhook(t, f.App, f.tenant, "https://example.com/idle", "")
	client.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com"}`)
	if _, err := f.App.DB().NewQuery("DELETE FROM deliveries").Execute(); err != nil {
		t.Fatal(err)
	}
	history(t, f, busy, "c1", "delivered", "failed", "delivered", "pending", "pending")

	health := admin.Do("GET", "/api/integrations/webhooks/health?ids="+busy+","+idle, "").JSON()["data"].([]any)
	first, second := health[0].(map[string]any), health[1].(map[string]any)
	if fmt.Sprint(first["delivered"], first["failed"], first["pending"]) != "2 1 2" || first["oldestPending"] == nil {
		t.Errorf("the busy webhook is %v", first)
	}
	if fmt.Sprint(second["delivered"], second["failed"], second["pending"], second["oldestPending"]) != "0 0 0 <nil>" {
		t.Errorf("the idle webhook is %v", second)
	}
	counts := admin.Do("GET", "/api/integrations/tenants/counts?ids="+f.tenant, "").JSON()["data"].([]any)[0].(map[string]any)
	if fmt.Sprint(counts["contacts"], counts["keys"], counts["webhooks"], counts["inbound"]) != "1 1 2 0" {
		t.Errorf("the tenant has %v", counts)
	}
	if got := states(admin, busy, idle); got != "no_traffic 0 0, no_traffic 0 0, " {
		t.Errorf("before anything is attempted the webhooks are %s", got)
	}
	if presets := admin.Do("GET", "/api/integrations/inbound/presets", "").JSON()["data"].([]any); len(presets) < 5 {
		t.Errorf("there are only %d presets", len(presets))
	}
}

// states returns the state of each webhook, and its attempts of the last 24 hours, all and those that failed.
func states(admin *testkit.Client, webhooks ...string) (got string) {
	for _, health := range admin.Do("GET", "/api/integrations/webhooks/health?ids="+strings.Join(webhooks, ","), "").JSON()["data"].([]any) {
		health := health.(map[string]any)
		got += fmt.Sprint(health["state"], " ", health["attempts"], " ", health["failedAttempts"], ", ")
	}
	return got
}

// A webhook is healthy or failing as most attempts of its last hour tell, disabled, or without traffic. Once
// everything has arrived, it is healthy.
func TestWebhookStates(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	var ids []string
	for name, statuses := range map[string][]int{"1 healthy": {200, 500}, "2 failing": {200, 500, 500}, "3 disabled": {500}, "4 idle": nil} {
		webhook := testkit.Record(t, f.App, "webhooks", map[string]any{"tenant": f.tenant, "name": name, "url": "https://example.com/" + name[2:], "disabled": name == "3 disabled"})
		ids = append(ids, name[:1]+webhook.Id)
		history(t, f, webhook.Id, "c1", "pending")
		for number, status := range statuses {
			attempt(t, f, webhook.Id, number+1, status, 0)
		}
	}
	slices.Sort(ids)
	for i := range ids {
		ids[i] = ids[i][1:]
	}
	testkit.CountActivity(t, f.App)
	if got := states(admin, ids...); got != "healthy 2 1, failing 3 2, disabled 1 1, no_traffic 0 0, " {
		t.Errorf("the webhooks are %s", got)
	}
	testkit.Execute(t, f.App, "UPDATE deliveries SET status = 'delivered' WHERE webhook = {:id}", dbx.Params{"id": ids[1]})
	if got := states(admin, ids[1]); got != "healthy 3 2, " {
		t.Errorf("the failing one is %s", got)
	}
}

func TestListDeliveries(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	contact, _ := client.Do("POST", contactsPath, `{"name":"Ada","email":"Ada@example.com"}`).Data()["id"].(string)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://example.com/hook", "")
	history(t, f, webhook, contact, "delivered", "failed", "delivered")
	history(t, f, webhook, "gone", "pending", "pending")
	history(t, f, testkit.Webhook(t, f.App, f.tenant, "https://example.com/other", ""), contact, "failed")

	list := func(query url.Values) (count int, next string) {
		t.Helper()
		query.Set("webhook", webhook)
		answer := admin.Do("GET", "/api/integrations/deliveries?"+query.Encode(), "")
		if answer.Status != 200 {
			t.Fatalf("%v gives %d %s", query, answer.Status, answer.Body)
		}
		next, _ = answer.JSON()["next"].(string)
		return len(answer.JSON()["data"].([]any)), next
	}
	recently := f.began.Add(-30 * time.Second).Format(time.RFC3339)
	for query, want := range map[string]int{
		"": 5, "status=failed": 1, "status=pending": 2, "type=contact.created": 5, "type=contact.deleted": 0,
		"contact=" + contact: 3, "contact=gone": 2, "contact=ada@EXAMPLE.com": 3, "contact=nobody@example.com": 0,
		"contact=gone&status=failed": 0, "from=" + url.QueryEscape(recently): 2, "to=" + url.QueryEscape(recently): 3,
	} {
		values, _ := url.ParseQuery(query)
		if got, _ := list(values); got != want {
			t.Errorf("%q lists %d deliveries, not %d", query, got, want)
		}
	}
	seen, next := list(url.Values{"limit": {"2"}})
	for pages := 1; next != ""; pages++ {
		count, following := list(url.Values{"limit": {"2"}, "cursor": {next}})
		seen, next = seen+count, following
		if pages > 3 {
			t.Fatal("the pages do not end")
		}
	}
	if seen != 5 {
		t.Errorf("page by page %d deliveries are seen", seen)
	}
	for _, query := range []string{"webhook=unknown", "webhook=unknown&contact=" + contact, "webhook=unknown&contact=ada@example.com"} {
		if got := admin.Do("GET", "/api/integrations/deliveries?"+query, ""); got.Status != 200 || len(got.JSON()["data"].([]any)) != 0 {
			t.Errorf("%q gives %d %s", query, got.Status, got.Body)
		}
	}
	for _, query := range []string{"", "webhook=x&status=lost", "webhook=x&from=yesterday", "webhook=x&cursor=*", "webhook=x&limit=0"} {
		if got := admin.Do("GET", "/api/integrations/deliveries?"+query, ""); got.Status != 400 || got.Code() != "invalid_parameter" {
			t.Errorf("%q gives %d %s", query, got.Status, got.Body)
		}
	}
}
