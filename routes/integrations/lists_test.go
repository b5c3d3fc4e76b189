package integrations_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

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
	if got := states(admin, busy, idle); got != "idle 0 0, idle 0 0, " {
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

// The health of a webhook follows from its attempts of the last 24 hours. The list filters, sorts and counts all
// webhooks, whatever page is shown.
func TestListWebhooks(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	ids := map[string]string{}
	ok, bad := slices.Repeat([]int{200}, 21), slices.Repeat([]int{500}, 10)
	for name, statuses := range map[string][]int{
		"healthy": append(ok, 500), "degraded": {200, 500}, "failing": {200, 500, 500}, "streak": append(ok, bad...),
		"ended streak": append(append(ok, bad...), 200), "disabled": {500}, "idle": nil,
	} {
		webhook := testkit.Record(t, f.App, "webhooks", map[string]any{
			"tenant": f.tenant, "name": name, "url": "https://example.com/of-" + name[:4], "disabled": name == "disabled",
		})
		ids[name] = webhook.Id
		history(t, f, webhook.Id, "c1", "pending")
		for number, status := range statuses {
			if number == 25 {
				testkit.CountActivity(t, f.App) // a streak continues over counts
			}
			attempt(t, f, webhook.Id, number+1, status, 0)
		}
	}
	history(t, f, ids["healthy"], "c2", "failed", "pending")
	testkit.Webhook(t, f.App, testkit.Tenant(t, f.App, "Other"), "https://example.com/other", "")
	testkit.CountActivity(t, f.App)
	if got := states(admin, ids["failing"], ids["streak"], ids["idle"]); got != "failing 3 2, failing 31 10, idle 0 0, " {
		t.Errorf("the webhooks are %s", got)
	}

	const path = "/api/integrations/webhooks?"
	for name, want := range map[string]string{
		"failing": "true 500 Internal Server Error", "streak": "true 500 Internal Server Error", "ended streak": "false <nil>", "idle": "false <nil>",
	} {
		for _, at := range []string{path + "sort=-name&limit=1&tenant=" + f.tenant + "&q=" + url.QueryEscape(name), "/api/integrations/webhooks/health?ids=" + ids[name]} {
			line := admin.Do("GET", at, "").JSON()["data"].([]any)[0].(map[string]any)
			if got := fmt.Sprint(line["failingSince"] != nil, " ", line["lastError"]); got != want {
				t.Errorf("%s says of %s %s", at, name, got)
			}
		}
	}
	for query, want := range map[string]string{
		"sort=-errorRate&limit=3":                       "disabled failing degraded true",
		"sort=-pending&limit=1":                         "healthy true",
		"sort=name&limit=2&offset=2&tenant=" + f.tenant: "ended streak failing true",
		"sort=name&health=failing":                      "failing streak false",
		"sort=name&health=degraded":                     "degraded ended streak false",
		"sort=-name&q=OF-DISA":                          "disabled false",
		"health=idle&tenant=" + f.tenant:                "idle false",
		"offset=100":                                    "false",
	} {
		page := admin.Do("GET", path+query, "").JSON()
		got := ""
		for _, line := range page["data"].([]any) {
			got += line.(map[string]any)["name"].(string) + " "
		}
		if got += fmt.Sprint(page["hasMore"]); got != want {
			t.Errorf("%s lists %s", query, got)
		}
	}
	page := admin.Do("GET", path+"health=failing&q=streak&tenant="+f.tenant, "").JSON()
	if got := fmt.Sprint(page["totals"]); got != "map[degraded:1 disabled:0 failing:1 healthy:0 idle:0]" {
		t.Errorf("the totals are %s", got)
	}
	line := admin.Do("GET", path+"q=healthy", "").JSON()["data"].([]any)[0].(map[string]any)
	if got := fmt.Sprintf("%.3f %v %v %v %t", line["errorRate"], line["attempts"], line["pending"], line["failed"],
		line["lastSuccess"] != nil); got != "0.045 22 2 1 true" {
		t.Errorf("the healthy one has %s", got)
	}
	for _, query := range []string{"health=fine", "sort=url", "sort=--name", "limit=0", "offset=-1"} {
		if got := admin.Do("GET", path+query, ""); got.Status != 400 || got.Code() != "invalid_parameter" {
			t.Errorf("%s gives %d %s", query, got.Status, got.Body)
		}
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
