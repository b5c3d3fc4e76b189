package integrations_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contactbase/internal/credential"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

func TestOnlySuperusersAdminister(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	for _, path := range []string{
		"webhooks/x/ping", "webhooks/x/rotate", "webhooks/x/recover", "deliveries/x/redeliver", "keys/x/rotate",
		"inbound/x/rotate", "inbound/preview", "webhooks/preview-filter", "inbound/requests/x/replay",
	} {
		if got := client.Do("POST", "/api/integrations/"+path, "{}"); got.Status != 401 || got.Code() != "unauthorized" {
			t.Errorf("%s gives %d %s", path, got.Status, got.Body)
		}
	}
}

// Queuing deliveries again wakes the workers. A dry run queues nothing.
func TestQueuingAgainWakesTheWorkers(t *testing.T) {
	t.Parallel()
	var woken atomic.Int64
	app := testkit.NewApp(t, func() { woken.Add(1) })
	f := &fixture{App: app, tenant: testkit.Tenant(t, app, "Acme")}
	f.base = testkit.Serve(t, app)
	webhook := testkit.Webhook(t, app, f.tenant, "https://example.com/hook", "")
	id := testkit.DeliveryOf(t, app, testkit.Emit(t, app, f.tenant, "", event.ContactCreated)).ID
	admin := newAdmin(t, f)
	for _, step := range []struct {
		path, body string
		wakes      bool
	}{
		{"deliveries/" + id + "/redeliver", "", true},
		{"webhooks/" + webhook + "/recover", `{"since":"2020-01-01T00:00:00Z","dryRun":true}`, false},
		{"webhooks/" + webhook + "/recover", `{"since":"2020-01-01T00:00:00Z"}`, true},
	} {
		before := woken.Load()
		if got := admin.Do("POST", "/api/integrations/"+step.path, step.body); got.Status != 200 {
			t.Fatalf("%s gives %d %s", step.path, got.Status, got.Body)
		}
		if wakes := woken.Load() > before; wakes != step.wakes {
			t.Errorf("%s %s wakes the workers: %t", step.path, step.body, wakes)
		}
	}
	testkit.Execute(t, app, "UPDATE deliveries SET attempts = 1, nextAttempt = '2039-01-01 00:00:00.000Z'", nil)
	for body, want := range map[string]any{
		`{"since":"2020-01-01T00:00:00Z"}`:                                   nil,
		`{"since":"2020-01-01T00:00:00Z","retryPending":true,"dryRun":true}`: 1.,
		`{"since":"2020-01-01T00:00:00Z","pending":true,"dryRun":true}`:      1., // its older name
	} {
		got := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/recover", body)
		if data := got.Data(); data["count"] != 0. || data["pending"] != 1. || data["pendingRetried"] != want {
			t.Errorf("%s gives %s", body, got.Body)
		}
	}
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	old, err := f.App.FindFirstRecordByData("api_keys", "hash", credential.Hash(client.Header.Get("X-API-Key")))
	if err != nil {
		t.Fatal(err)
	}
	rotated := admin.Do("POST", "/api/integrations/keys/"+old.Id+"/rotate", `{"overlapHours":1}`)
	key, _ := rotated.Data()["key"].(string)
	if rotated.Status != 200 || !credential.WellFormed(credential.KeyPrefix, key) {
		t.Fatalf("rotating gives %d %s", rotated.Status, rotated.Body)
	}
	successor := testkit.NewClient(t, f.base, key)
	for what, c := range map[string]*testkit.Client{"the old key": client, "the new key": successor} {
		if got := c.Do("GET", contactsPath, ""); got.Status != 200 {
			t.Errorf("within the overlap %s gives %d", what, got.Status)
		}
	}
	created, err := f.App.FindFirstRecordByData("api_keys", "hash", credential.Hash(key))
	if err != nil {
		t.Fatal(err)
	}
	if got := admin.Do("POST", "/api/integrations/keys/"+created.Id+"/rotate", ""); got.Status != 200 {
		t.Fatalf("rotating without a body gives %d %s", got.Status, got.Body)
	}
	if got := successor.Do("GET", contactsPath, ""); got.Status != 401 {
		t.Errorf("without an overlap the old key gives %d", got.Status)
	}
	if got := admin.Do("POST", "/api/integrations/keys/"+old.Id+"/rotate", `{"overlapHours":1,"expires":"2999-01-31T12:00:00+01:00"}`); got.Status != 200 {
		t.Fatalf("rotating with an expiry gives %d %s", got.Status, got.Body)
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM api_keys WHERE expires = '2999-01-31 11:00:00.000Z'", nil); n != 1 {
		t.Errorf("%d keys have the expiry", n)
	}
	for _, expires := range []string{`"2020-01-31T12:00:00Z"`, `"tomorrow"`, `""`, `1`} {
		got := admin.Do("POST", "/api/integrations/keys/"+old.Id+"/rotate", `{"expires":`+expires+`}`)
		if fields, _ := got.JSON()["error"].(map[string]any)["fields"].(map[string]any); got.Status != 400 || fields["expires"] == nil {
			t.Errorf("%s gives %d %s", expires, got.Status, got.Body)
		}
	}
	for body, status := range map[string]int{`{"overlapHours":-1}`: 400, `{"overlapHours":721}`: 400, `{"overlapHours":5124096}`: 400, `{"overlapHours":"x"}`: 400} {
		if got := admin.Do("POST", "/api/integrations/keys/"+old.Id+"/rotate", body); got.Status != status {
			t.Errorf("%s gives %d %s", body, got.Status, got.Body)
		}
	}
	if got := admin.Do("POST", "/api/integrations/keys/unknown/rotate", ""); got.Status != 404 {
		t.Errorf("an unknown key gives %d", got.Status)
	}
	if old, err = f.App.FindRecordById("api_keys", old.Id); err != nil || !old.GetDateTime("expires").Time().After(time.Now()) {
		t.Errorf("the old key expires at %v (%v)", old.GetDateTime("expires"), err)
	}
}

// Four old secrets of a webhook sign at most, and all end without an overlap.
func TestRotateWebhook(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://example.com", "the first secret")
	path := "/api/integrations/webhooks/" + webhook + "/rotate"
	for _, body := range []string{`{"overlapHours":-1}`, `{"overlapHours":25}`} {
		if got := admin.Do("POST", path, body); got.Status != 400 || got.FieldCode("overlapHours") != "invalid_value" {
			t.Errorf("%s gives %d %s", body, got.Status, got.Body)
		}
	}
	if got := admin.Do("POST", path, `{"overlapHours":"x"}`); got.Status != 400 || got.Code() != "invalid_json" {
		t.Errorf("a text gives %d %s", got.Status, got.Body)
	}
	for i, body := range []string{"", "{}", `{"overlapHours":24}`, `{"overlapHours":1}`} {
		if got := admin.Do("POST", path, body); got.Status != 200 || !strings.HasPrefix(got.Data()["secret"].(string), "whsec_") {
			t.Errorf("rotation %d gives %d %s", i+1, got.Status, got.Body)
		}
	}
	for _, body := range []string{"", `{"overlapHours":1}`} {
		if got := admin.Do("POST", path, body); got.Status != 409 || got.Code() != "too_many_rotations" {
			t.Errorf("the fifth rotation gives %d %s", got.Status, got.Body)
		}
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM webhooks WHERE previousSecret != '' AND olderSecrets LIKE '[%'", nil); n != 1 {
		t.Errorf("%d webhooks have old secrets", n)
	}
	if got := admin.Do("POST", path, `{"overlapHours":0}`); got.Status != 200 {
		t.Errorf("ending all gives %d %s", got.Status, got.Body)
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM webhooks WHERE previousSecret = '' AND previousSecretUntil = '' AND olderSecrets = ''", nil); n != 1 {
		t.Errorf("%d webhooks have no old secrets", n)
	}
	if got := admin.Do("POST", path, ""); got.Status != 200 {
		t.Errorf("afterwards rotating gives %d %s", got.Status, got.Body)
	}
}

// A revoked or expired key cannot be rotated, and does not change.
func TestRotateEndedKey(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	for field, at := range map[string]time.Time{"revoked": time.Now(), "expires": time.Now().Add(-time.Second)} {
		key := testkit.Record(t, f.App, "api_keys", map[string]any{"tenant": f.tenant, "name": "ended", field: at})
		count, err := f.App.CountRecords("api_keys")
		if err != nil {
			t.Fatal(err)
		}
		got := admin.Do("POST", "/api/integrations/keys/"+key.Id+"/rotate", `{"overlapHours":1}`)
		if got.Status != 409 || got.Code() != "key_not_active" || !strings.Contains(string(got.Body), "create a new one") {
			t.Errorf("%s: rotating gives %d %s", field, got.Status, got.Body)
		}
		if after, err := f.App.CountRecords("api_keys"); err != nil || after != count {
			t.Errorf("%s: %d keys became %d (%v)", field, count, after, err)
		}
		after, err := f.App.FindRecordById("api_keys", key.Id)
		if err != nil || after.GetString("updated") != key.GetString("updated") || after.GetString("expires") != key.GetString("expires") {
			t.Errorf("%s: the key has changed (%v)", field, err)
		}
	}
}

func TestRotateInbound(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	sender, old := testkit.NewClient(t, f.base, ""), "/api/hooks/"+testkit.Inbound(t, f.App, f.tenant, "upsert", nil)
	webhook, err := f.App.FindFirstRecordByData("inbound_webhooks", "tenant", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	rotated := newAdmin(t, f).Do("POST", "/api/integrations/inbound/"+webhook.Id+"/rotate", "")
	token, _ := rotated.Data()["token"].(string)
	if rotated.Status != 200 || rotated.Data()["url"] != f.App.Settings().Meta.AppURL+"/api/hooks/"+token {
		t.Fatalf("rotating gives %d %s", rotated.Status, rotated.Body)
	}
	if got := sender.Do("POST", old, `{"name":"A"}`); got.Status != 401 || got.Code() != "invalid_token" {
		t.Errorf("the old token gives %d %s", got.Status, got.Body)
	}
	if got := sender.Do("POST", "/api/hooks/"+token, `{"name":"A"}`); got.Status != 200 || got.Data()["created"] != 1.0 {
		t.Errorf("the new token gives %d %s", got.Status, got.Body)
	}
}

// The delivery of a deleted contact's event can be read but not sent again.
func TestRedeliverAfterErasure(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.Webhook(t, f.App, f.tenant, "https://example.com/hook", "")
	id := client.Do("POST", contactsPath, `{"name":"Ada"}`).Data()["id"].(string)
	testkit.FanOut(t, f.App)
	created, err := f.App.FindFirstRecordByFilter("deliveries", "event.type = 'contact.created'")
	if err != nil {
		t.Fatal(err)
	}
	created.Set("status", "delivered") // pending ones are erased once sent
	if err := f.App.Save(created); err != nil {
		t.Fatal(err)
	}
	contact, err := f.App.FindRecordById("contacts", id)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.App.Delete(contact); err != nil {
		t.Fatal(err)
	}
	testkit.Sweep(t, f.App)
	got := newAdmin(t, f).Do("POST", "/api/integrations/deliveries/"+created.Id+"/redeliver", "")
	if got.Status != 400 || got.FieldCode("id") != "invalid_value" {
		t.Errorf("redelivering gives %d %s", got.Status, got.Body)
	}
}

// Without a replica, its status is null.
func TestNoReplica(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	const path = "/api/integrations/replica"
	if got := client.Do("GET", path, ""); got.Status != 401 {
		t.Errorf("a key gets %d %s", got.Status, got.Body)
	}
	if got := newAdmin(t, f).Do("GET", path, ""); got.Status != 200 || strings.TrimSpace(string(got.Body)) != `{"data":null}` {
		t.Errorf("a superuser gets %d %s", got.Status, got.Body)
	}
}
