package integrations_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/credential"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// attempt adds an attempt of a webhook's newest delivery, as the engine stores it.
func attempt(t *testing.T, f *fixture, webhook string, number, status int, took time.Duration) {
	t.Helper()
	testkit.Execute(t, f.App, "INSERT INTO delivery_attempts (id, delivery, number, started, durationMs, status) "+
		"SELECT {:id}, id, {:number}, {:at}, {:ms}, {:status} FROM deliveries WHERE webhook = {:webhook} ORDER BY created DESC LIMIT 1",
		dbx.Params{"id": fmt.Sprintf("a%014d", time.Now().UnixNano()/1000), "number": number, "at": stamp.Stored(f.began),
			"ms": took.Milliseconds(), "status": status, "webhook": webhook})
}

// The charts show the last hours or days: attempts and requests by result, and response times.
func TestActivity(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://example.com/hook", "")
	history(t, f, webhook, "c1", "delivered")
	attempt(t, f, webhook, 1, 500, 10*time.Millisecond)
	attempt(t, f, webhook, 2, 200, 8*time.Second)
	client.Do("GET", contactsPath, "")
	client.Do("GET", contactsPath+"/nobody", "")
	testkit.CountActivity(t, f.App)

	for query, want := range map[string]int{"": 24, "?period=hour": 60, "?period=day": 24, "?period=week": 28, "?period=month": 30} {
		got := admin.Do("GET", "/api/integrations/webhooks/"+webhook+"/activity"+query, "").Data()
		steps := got["steps"].([]any)
		index := len(steps) - 1
		if last := steps[index].(map[string]any); last["delivered"] == 0.0 {
			index-- // a minute has ended meanwhile
		}
		last := steps[index].(map[string]any)
		if len(steps) != want || fmt.Sprint(last["delivered"], last["retried"], last["failed"], last["p50Ms"], last["p95Ms"], got["p50Ms"]) != "1 1 0 11 8192 11" {
			t.Errorf("%q gives %d steps, the last with attempts %v of %v", query, len(steps), last, got)
		}
		if first := steps[0].(map[string]any); first["p50Ms"] != nil || first["delivered"] != 0.0 {
			t.Errorf("%q begins with %v", query, first)
		}
	}
	key, err := f.App.FindFirstRecordByData("api_keys", "tenant", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	got := admin.Do("GET", "/api/integrations/keys/"+key.Id+"/activity", "").Data()
	steps, calls := got["steps"].([]any), got["last"].([]any)
	sums := map[string]float64{} // of all hours, because one may have begun meanwhile
	for _, step := range steps {
		for name, value := range step.(map[string]any) {
			n, _ := value.(float64)
			sums[name] += n
		}
	}
	if fmt.Sprint(sums["answered"], sums["refused"], sums["limited"], sums["failed"], len(calls)) != "1 1 0 0 1" {
		t.Errorf("the key has %v", got)
	}
	if slowest := got["slowest"].([]any); len(slowest) != 1 || fmt.Sprint(got["limit"]) != "map[burst:100 perMinute:600]" {
		t.Errorf("its slowest are %v, its limit is %v", slowest, got["limit"])
	}
	for query, want := range map[string]string{
		"method=GET": "1 1", "method=POST": "0 0", "status=404": "1 0", "status=4xx": "1 0", "status=5xx": "0 0", "status=2xx": "0 1",
		"path=Contacts/": "1 0", "path=batch": "0 0", "path=contacts&status=4xx": "1 0",
	} {
		got := admin.Do("GET", "/api/integrations/keys/"+key.Id+"/activity?"+query, "").Data()
		if numbers := fmt.Sprint(len(got["last"].([]any)), len(got["slowest"].([]any))); numbers != want {
			t.Errorf("%q gives %s calls", query, numbers)
		}
	}
	for _, query := range []string{"method=BREW", "method=get", "status=4", "status=600", "status=4x", "status=xx", "path=" + strings.Repeat("x", 201)} {
		got := admin.Do("GET", "/api/integrations/keys/"+key.Id+"/activity?"+query, "")
		if got.Status != 400 || got.Code() != "invalid_parameter" {
			t.Errorf("%q gives %d %s", query, got.Status, got.Body)
		}
	}
	testkit.Execute(t, f.App, "UPDATE tenants SET rateLimit = 9", nil)
	if got := admin.Do("GET", "/api/integrations/keys/"+key.Id+"/activity", "").Data()["limit"]; fmt.Sprint(got) != "map[burst:1 perMinute:9]" {
		t.Errorf("with a rate of 9 its limit is %v", got)
	}
	testkit.NewClient(t, f.base, "").Do("GET", contactsPath, "")
	testkit.CountActivity(t, f.App)
	unknown := admin.Do("GET", "/api/integrations/keys/unknown/activity?period=month", "").Data()["last"].([]any)
	if len(unknown) != 1 || unknown[0].(map[string]any)["code"] != "missing_api_key" {
		t.Errorf("without a key there are %v", unknown)
	}
	if got := admin.Do("GET", "/api/integrations/keys/nobody/activity", ""); got.Status != 404 {
		t.Errorf("a key that does not exist gives %d %s", got.Status, got.Body)
	}
	for _, path := range []string{"webhooks/" + webhook + "/activity", "keys/" + key.Id + "/activity", "overview"} {
		if got := admin.Do("GET", "/api/integrations/"+path+"?period=year", ""); got.Status != 400 || got.Code() != "invalid_parameter" {
			t.Errorf("%s gives %d %s", path, got.Status, got.Body)
		}
	}
}

// The overview shows the last 24 hours and current problems.
func TestOverview(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	client.Do("POST", contactsPath, `{"name":"Ada"}`)
	client.Do("POST", contactsPath, `{}`)
	problems := func() (got string) {
		t.Helper()
		testkit.CountActivity(t, f.App)
		for _, p := range admin.Do("GET", "/api/integrations/overview", "").Data()["problems"].([]any) {
			p := p.(map[string]any)
			if p["kind"] == "not_ready" { // no workers run here
				continue
			}
			tenant := p["tenant"].(map[string]any)
			got += fmt.Sprintln(p["kind"], p["name"], tenant["name"], tenant["id"] == f.tenant, p["detail"], p["count"], p["of"], p["at"] != nil)
		}
		return got
	}
	if got := problems(); got != "" {
		t.Errorf("nothing is wrong, and still\n%s", got)
	}
	overview := admin.Do("GET", "/api/integrations/overview", "").Data()
	if nats, isKnown := overview["nats"]; !isKnown || nats != false {
		t.Errorf("a server without NATS says %v", nats)
	}
	last := overview["steps"].([]any)[23].(map[string]any)
	if fmt.Sprint(last["created"], last["calls"], last["refused"], overview["contacts"], overview["more"]) != "1 2 1 1 false" {
		t.Errorf("it is %v of %v", last, overview)
	}
	minutes := admin.Do("GET", "/api/integrations/overview?period=hour", "").Data()["steps"].([]any)
	if last := minutes[59].(map[string]any); fmt.Sprint(len(minutes), last["created"], last["calls"]) != "60 1 2" {
		// a minute has ended meanwhile
		if before := minutes[58].(map[string]any); fmt.Sprint(before["created"], last["created"]) != "1 0" &&
			fmt.Sprint(before["calls"], last["calls"]) != "1 1" {
			t.Errorf("by the minute it ends with %v and %v", before, last)
		}
	}
	if p := overview["problems"].([]any)[0].(map[string]any); p["kind"] != "not_ready" || p["name"] != "engine" || p["tenant"] != nil {
		t.Errorf("an engine that does not run is told as %v", p)
	}

	failing := testkit.Webhook(t, f.App, f.tenant, "https://example.com/failing", "")
	lost := testkit.Webhook(t, f.App, f.tenant, "https://example.com/lost", "")
	history(t, f, failing, "c1", "pending")
	attempt(t, f, failing, 1, 500, 0)
	history(t, f, lost, "c1", "delivered")
	attempt(t, f, lost, 1, 200, 0)
	history(t, f, lost, "c1", "failed")
	attempt(t, f, lost, 1, 500, 0)
	testkit.Record(t, f.App, "webhooks", map[string]any{"tenant": f.tenant, "url": "https://example.com/off", "name": "Off", "disabled": true, "disabledReason": "gone"})
	for name, expires := range map[string]time.Duration{"ends soon": time.Hour, "ends later": 15 * 24 * time.Hour, "has ended": -time.Hour} {
		testkit.Record(t, f.App, "api_keys", map[string]any{"tenant": f.tenant, "name": name, "expires": time.Now().Add(expires)})
	}
	rotated := testkit.Record(t, f.App, "api_keys", map[string]any{"tenant": f.tenant, "name": "rotated"})
	if _, err := credential.Rotate(f.App, rotated.Id, credential.Rotation{OverlapHours: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	want := "webhook_disabled Off Acme true gone 0 0 true\n" +
		"webhook_failing https://example.com/failing Acme true 500 Internal Server Error 1 1 true\n" +
		"deliveries_failed https://example.com/lost Acme true  1 0 false\n" +
		"key_expires ends soon Acme true  0 0 true\n"
	if got := problems(); got != want {
		t.Errorf("wrong are\n%snot\n%s", got, want)
	}
	// failed test events are no missed ones, and what was recovered is no problem any more
	testkit.Execute(t, f.App, "UPDATE events SET type = 'webhook.ping' WHERE id IN (SELECT event FROM deliveries WHERE webhook = {:id} AND status = 'failed')", dbx.Params{"id": lost})
	testkit.Execute(t, f.App, "UPDATE deliveries SET status = 'delivered' WHERE webhook = {:id}", dbx.Params{"id": failing})
	attempt(t, f, failing, 2, 200, 0)
	if got := problems(); strings.Contains(got, "webhook_failing") || strings.Contains(got, "deliveries_failed") {
		t.Errorf("after recovery wrong are\n%s", got)
	}
	for i := range 25 {
		testkit.Record(t, f.App, "webhooks", map[string]any{"tenant": f.tenant, "url": fmt.Sprint("https://example.com/", i), "disabled": true})
	}
	overview = admin.Do("GET", "/api/integrations/overview", "").Data()
	if n := len(overview["problems"].([]any)); n != 22 || overview["more"] != true {
		t.Errorf("%d problems are listed, and there are more: %v", n, overview["more"])
	}
	if got := fmt.Sprint(overview["counts"], overview["webhooks"], overview["pending"]); got !=
		"map[key_expires:1 webhook_disabled:26] map[degraded:2 disabled:26 failing:0 healthy:0 idle:0] 0" {
		t.Errorf("the counts are %s", got)
	}
}

// Three or more consecutive deliveries that wait or failed for the same reason are one line of a page. Its cursor
// leads to the others.
func TestGroupedDeliveries(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://example.com/hook", "")
	// oldest first
	history(t, f, webhook, "c1", "failed", "failed", "failed", "delivered", "delivered", "delivered", "failed", "failed", "pending", "pending", "pending", "pending")
	testkit.Execute(t, f.App, "UPDATE deliveries SET lastError = 'other' WHERE created = (SELECT min(created) FROM deliveries)", nil)
	list := func(query string) (got string, rows []any, next any) {
		t.Helper()
		answer := admin.Do("GET", "/api/integrations/deliveries?webhook="+webhook+query, "").JSON()
		rows = answer["data"].([]any)
		for _, row := range rows {
			row := row.(map[string]any)
			got += fmt.Sprint(row["count"], row["status"].(string)[:1], " ")
		}
		return got, rows, answer["next"]
	}
	got, rows, next := list("&grouped=true")
	if got != "4p 1f 1f 1d 1d 1d 1f 1f 1f " || next != nil {
		t.Errorf("grouped are %s, and then %v", got, next)
	}
	group := rows[0].(map[string]any)
	if got, others, _ := list("&limit=3&cursor=" + group["cursor"].(string)); got != "1p 1p 1p " || others[2].(map[string]any)["created"] != group["since"] {
		t.Errorf("the others of %v are %s", group, got)
	}
	if got, _, _ := list(""); got != "1p 1p 1p 1p 1f 1f 1d 1d 1d 1f 1f 1f " {
		t.Errorf("not grouped they are %s", got)
	}
	testkit.Execute(t, f.App, "UPDATE deliveries SET lastError = ''", nil)
	all := ""
	for cursor, pages := "", 0; ; pages++ {
		got, _, next := list("&grouped=true&limit=2" + cursor)
		all += got + "| "
		if next == nil || pages > 5 {
			break
		}
		cursor = "&cursor=" + next.(string)
	}
	if want := "4p 1f 1f | 1d 1d | 1d 3f | "; all != want {
		t.Errorf("page by page they are %s, not %s", all, want)
	}
	if got := admin.Do("GET", "/api/integrations/deliveries?grouped=maybe&webhook="+webhook, ""); got.Status != 400 {
		t.Errorf("grouped=maybe gives %d %s", got.Status, got.Body)
	}
}

// A delivery shows the bytes that it sends, and when.
func TestDeliveryDetails(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://example.com/hook", "")
	client.Do("POST", contactsPath, `{"name":"Ada <&>"}`)
	testkit.FanOut(t, f.App)
	var id, body string
	if err := f.App.DB().NewQuery("SELECT d.id, e.payload FROM deliveries d JOIN events e ON e.id = d.event").Row(&id, &body); err != nil {
		t.Fatal(err)
	}
	show := func() map[string]any {
		t.Helper()
		return admin.Do("GET", "/api/integrations/deliveries/"+id, "").Data()
	}
	if got := show(); got["body"] != body || got["webhook"] != webhook || got["url"] != "https://example.com/hook" || len(got["upcoming"].([]any)) != 10 {
		t.Errorf("it is %v", got)
	}
	testkit.Execute(t, f.App, "UPDATE deliveries SET attempts = 8, nextAttempt = '2026-03-05 13:26:13.000Z'", nil)
	if got := fmt.Sprint(show()["upcoming"]); got != "[2026-03-05T13:26:13.000Z 2026-03-06T17:26:13.000Z]" {
		t.Errorf("after eight attempts there come %s", got)
	}
	testkit.Execute(t, f.App, "UPDATE webhooks SET disabled = 1", nil)
	if got := show()["upcoming"].([]any); len(got) != 0 {
		t.Errorf("while the webhook is disabled there come %v", got)
	}
	testkit.Execute(t, f.App, "UPDATE webhooks SET disabled = 0", nil)
	testkit.Execute(t, f.App, "UPDATE deliveries SET status = 'failed', nextAttempt = ''", nil)
	if got := show()["upcoming"].([]any); len(got) != 0 {
		t.Errorf("after the last attempt there come %v", got)
	}
	if got := admin.Do("GET", "/api/integrations/deliveries/nothing", ""); got.Status != 404 {
		t.Errorf("a delivery that there is not gives %d %s", got.Status, got.Body)
	}
}

// A recovery covers the events since the webhook was created, and reports them.
func TestRecoveryReportsItsEvents(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	client.Do("POST", contactsPath, `{"name":"Ada"}`)
	client.Do("POST", contactsPath, `{"name":"Grace"}`)
	testkit.Execute(t, f.App, "UPDATE events SET created = '2026-03-04 16:20:11.087Z'", nil)
	testkit.FanOut(t, f.App)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://example.com/hook", "")
	for body, want := range map[string]string{
		`{"since":"2026-01-01T00:00:00Z","dryRun":true}`:               "0 map[] <nil> <nil>",
		`{"since":"2026-01-01T00:00:00Z","before":true,"dryRun":true}`: "2 map[contact.created:2] 2026-03-04T16:20:11.087Z 2026-03-04T16:20:11.087Z",
	} {
		got := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/recover", body).Data()
		if fmt.Sprintf("%v %v %v %v", got["count"], got["types"], got["oldest"], got["newest"]) != want {
			t.Errorf("%s gives %v", body, got)
		}
	}
}
