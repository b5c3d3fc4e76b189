package hooks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/secret"
	"contactbase/internal/testkit"
	"contactbase/internal/webhook"
)

// storedSecret returns a sealed field in plain text.
func (d *door) storedSecret(collection, id, field string) string {
	d.t.Helper()
	plain, err := secret.Open(d.app, d.reload(collection, id).GetString(field))
	if err != nil {
		d.t.Fatal(err)
	}
	return plain
}

// A member's key cannot expire in the past, from where it would never work. An expired one can be changed.
func TestMembersKeysExpireLater(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	client, path := d.as(d.admin), recordsOf("api_keys")
	body := func(expires string) string {
		return `{"tenant":"` + d.acme.tenant + `","name":"x","expires":"` + expires + `"}`
	}
	if got := d.expect(400, client, "POST", path, body("2020-01-31 12:00:00.000Z")); !strings.Contains(string(got.Body), `"expires":{`) {
		t.Errorf("an expiry in the past gives %s", got.Body)
	}
	d.expect(200, client, "POST", path, body(""))
	key := path + "/" + d.expect(200, client, "POST", path, body("2999-01-31 12:00:00.000Z")).JSON()["id"].(string)
	d.expect(400, client, "PATCH", key, `{"expires":"2020-01-31 12:00:00.000Z"}`)
	testkit.Execute(t, d.app, "UPDATE api_keys SET expires = '2020-01-31 12:00:00.000Z'", nil)
	d.expect(200, client, "PATCH", key, `{"name":"y"}`)
	d.expect(200, client, "PATCH", key, `{"expires":""}`)
}

// Members type secrets and headers, although nobody can read them.
func TestMembersWriteHiddenFields(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	client := d.as(d.admin)
	path := recordsOf("webhooks")
	body := func(more string) string {
		return `{"tenant":"` + d.acme.tenant + `","url":"https://example.com"` + more + `}`
	}
	typed := d.expect(200, client, "POST", path, body(`,"secret":"typed by Ada","headers":{"X-Token":"hunter2"},"sealedHeaders":"{}","previousSecret":"x","olderSecrets":"x"`))
	id, _ := typed.JSON()["id"].(string)
	check := func(what string, got *testkit.Answer, wantSecret, wantHeader string) {
		t.Helper()
		if got.JSON()["secret"] != wantSecret || strings.Contains(string(got.Body), "hunter") || d.storedSecret("webhooks", id, "secret") != wantSecret {
			t.Errorf("%s gives %s", what, got.Body)
		}
		sent, err := webhook.SentHeaders(d.app, d.reload("webhooks", id).GetString("sealedHeaders"))
		if err != nil || sent["X-Token"] != wantHeader || d.reload("webhooks", id).GetString("previousSecret")+d.reload("webhooks", id).GetString("olderSecrets") != "" {
			t.Errorf("after %s, %v is sent (%v)", what, sent, err)
		}
	}
	check("creating", typed, "typed by Ada", "hunter2")
	check("changing", d.expect(200, client, "PATCH", path+"/"+id, `{"secret":"another one","headers":{"X-Token":"hunter3"}}`), "another one", "hunter3")
	if got := d.expect(200, client, "PATCH", path+"/"+id, `{"name":"x"}`); got.JSON()["secret"] != nil || d.storedSecret("webhooks", id, "secret") != "another one" {
		t.Errorf("renaming gives %s", got.Body)
	}
	d.expect(400, client, "PATCH", path+"/"+id, `{"secret":"short"}`)
	d.expect(400, client, "PATCH", path+"/"+id, `{"headers":{"Host":"x"}}`)
	d.expect(404, d.as(d.viewer), "PATCH", path+"/"+id, `{"secret":"of the viewer"}`)

	batch := d.expect(200, client, "POST", "/api/batch", `{"requests":[{"method":"PATCH","url":"`+path+"/"+id+`","body":{"secret":"by the batch","headers":{"X-Token":"hunter4"}}},
		{"method":"PUT","url":"`+recordsOf("inbound_webhooks")+`","body":{"id":"`+d.acme.ids["inbound_webhooks"]+`","verifySecret":"put by Ada Lovelace"}}]}`)
	var results []struct{ Body map[string]any }
	if err := json.Unmarshal(batch.Body, &results); err != nil || len(results) != 2 || results[0].Body["secret"] != "by the batch" {
		t.Errorf("the batch gives %s (%v)", batch.Body, err)
	}
	if got := d.storedSecret("webhooks", id, "secret"); got != "by the batch" {
		t.Errorf("the batch stores %q", got)
	}
	got := d.storedSecret("inbound_webhooks", d.acme.ids["inbound_webhooks"], "verifySecret")
	if got != "put by Ada Lovelace" {
		t.Errorf("the batch stores %q", got)
	}

	var form bytes.Buffer
	fields := multipart.NewWriter(&form)
	for name, value := range map[string]string{"secret": "from a form", "headers": `{"X-Token":"hunter5"}`} {
		if err := fields.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := fields.Close(); err != nil {
		t.Fatal(err)
	}
	check("a form", client.Do("PATCH", path+"/"+id, form.String(), "Content-Type", fields.FormDataContentType()), "from a form", "hunter5")

	inbound := recordsOf("inbound_webhooks")
	made, _ := d.expect(200, client, "POST", inbound, `{"tenant":"`+d.acme.tenant+`","name":"i","access":"full",
		"verifySecret":"verify me, sender","tokenHash":"mine"}`).JSON()["id"].(string)
	if got := d.storedSecret("inbound_webhooks", made, "verifySecret"); got != "verify me, sender" ||
		d.reload("inbound_webhooks", made).GetString("tokenHash") == "mine" {
		t.Errorf("the secret that verifies is %q", got)
	}
	d.expect(200, client, "PATCH", inbound+"/"+made, `{"verifySecret":"-"}`)
	if got := d.storedSecret("inbound_webhooks", made, "verifySecret"); got != "" {
		t.Errorf("the secret stays %q", got)
	}
}

// A webhook is a member's if a member has last set its URL, and nobody can say otherwise.
func TestWhoseWebhook(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	superuser := testkit.NewClient(t, d.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	ada, link, path := d.as(d.admin), d.as(d.link), recordsOf("webhooks")
	id, _ := d.expect(200, superuser, "POST", path, `{"tenant":"`+d.acme.tenant+`","url":"https://example.com/1","memberOwned":true}`).JSON()["id"].(string)
	for _, step := range []struct {
		client *testkit.Client
		body   string
		want   bool
	}{
		{superuser, `{"memberOwned":true}`, false},
		{ada, `{"name":"x","url":"https://example.com/1"}`, false},
		{ada, `{"url":"https://example.com/2","memberOwned":false}`, true},
		{superuser, `{"name":"y","memberOwned":false}`, true},
		{superuser, `{"url":"https://example.com/3"}`, false},
		{link, `{"url":"https://example.com/1"}`, true},
	} {
		got := d.expect(200, step.client, "PATCH", path+"/"+id, step.body)
		if d.reload("webhooks", id).GetBool("memberOwned") != step.want || strings.Contains(string(got.Body), "memberOwned") {
			t.Errorf("after %s it is a member's: %v, and the answer is %s", step.body, !step.want, got.Body)
		}
	}
	d.expect(200, ada, "POST", "/api/batch", `{"requests":[{"method":"POST","url":"`+path+`","body":{"tenant":"`+d.acme.tenant+`","url":"https://example.com/batch"}}]}`)
	if n := testkit.Count(t, d.app, "SELECT count(*) FROM webhooks WHERE url LIKE '%batch' AND memberOwned = 1", nil); n != 1 {
		t.Error("a member's webhook of a batch is not a member's")
	}
	record := d.reload("webhooks", id)
	record.Set("url", "https://example.com/command")
	if err := d.app.Save(record); err != nil || d.reload("webhooks", id).GetBool("memberOwned") {
		t.Errorf("a command's webhook is a member's (%v)", err)
	}
}

// A member's webhook reaches no private address, whatever the installation opens for its own: not when it is saved,
// pinged or delivered to.
func TestMembersReachNothingPrivate(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(receiver.Close)
	d := newDoor(t)
	superuser := testkit.NewClient(t, d.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	ada, path, id := d.as(d.admin), recordsOf("webhooks"), d.acme.ids["webhooks"]
	ping := func() string {
		data := d.expect(200, superuser, "POST", "/api/integrations/webhooks/"+id+"/ping", "").Data()
		failure, _ := data["error"].(string)
		return failure
	}
	for _, refused := range []string{receiver.URL, "http://localhost:9", "http://[::1]:9", "http://169.254.169.254/latest", "nats:contactbase.acme"} {
		d.expect(400, ada, "PATCH", path+"/"+id, `{"url":"`+refused+`"}`)
	}
	d.expect(200, superuser, "PATCH", path+"/"+id, `{"url":"`+receiver.URL+`"}`)
	if failure := ping(); failure != "" || calls.Load() != 1 {
		t.Fatalf("a superuser's webhook gets %q, %d calls", failure, calls.Load())
	}
	d.expect(200, ada, "PATCH", path+"/"+id, `{"url":"inspect:"}`)
	if failure := ping(); failure != "" {
		t.Errorf("the inspector says %q", failure)
	}
	// a name that leads here, as far as the sender can tell when it dials
	testkit.Execute(t, d.app, "UPDATE webhooks SET url = {:url} WHERE id = {:id}", dbx.Params{"url": receiver.URL, "id": id})
	if failure := ping(); !strings.HasPrefix(failure, "blocked address") || strings.Contains(failure, "127.0.0.1") {
		t.Errorf("a member's webhook gets %q", failure)
	}
	if calls.Load() != 1 {
		t.Errorf("the receiver got %d calls", calls.Load())
	}
	// such a URL, which the settings may have allowed before, prevents no other change
	for _, client := range []*testkit.Client{ada, superuser} {
		d.expect(200, client, "PATCH", path+"/"+id, `{"disabled":true,"name":"x"}`)
		d.expect(200, client, "POST", "/api/integrations/webhooks/"+id+"/rotate", "")
		d.expect(200, client, "PATCH", path+"/"+id, `{"disabled":false}`)
	}
	d.expect(400, ada, "PATCH", path+"/"+id, `{"url":"`+receiver.URL+`/other"}`)
}

func TestMembersDeliverNothingPrivate(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(receiver.Close)
	app := testkit.NewDeliveringApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	own, members := testkit.Webhook(t, app, tenantID, receiver.URL, ""), testkit.Webhook(t, app, tenantID, receiver.URL, "")
	testkit.Execute(t, app, "UPDATE webhooks SET memberOwned = 1 WHERE id = {:id}", dbx.Params{"id": members})
	testkit.Record(t, app, "contacts", map[string]any{"tenant": tenantID, "name": "Ada"})
	attempted := func(webhook, and string) func() bool {
		return func() bool {
			return testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE webhook = {:id} AND "+and, dbx.Params{"id": webhook}) == 1
		}
	}
	testkit.Eventually(t, "the delivery to the installation's webhook", attempted(own, "status = 'delivered'"))
	testkit.Eventually(t, "the attempt to deliver to the member's", attempted(members, "attempts = 1 AND lastError LIKE 'blocked address%'"))
	if calls.Load() != 1 {
		t.Errorf("the receiver got %d calls", calls.Load())
	}
}

// A member who leads a webhook to another host does not take its headers there.
func TestHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	superuser := testkit.NewClient(t, d.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	path := recordsOf("webhooks") + "/" + d.acme.ids["webhooks"]
	names := func(client *testkit.Client, body string) string {
		t.Helper()
		return fmt.Sprint(d.expect(200, client, "PATCH", path, body).JSON()["headerNames"])
	}
	if got := names(superuser, `{"headers":{"Authorization":"Bearer x"}}`); got != "[Authorization]" {
		t.Fatalf("the headers are %s", got)
	}
	if got := names(d.as(d.admin), `{"url":"https://hooks.example.com/other"}`); got != "[Authorization]" {
		t.Errorf("at another path, the headers are %s", got)
	}
	d.expect(400, d.as(d.admin), "PATCH", path, `{"url":"https://elsewhere.example.com","headers":{"Authorization":null}}`)
	if got := names(d.as(d.admin), `{"url":"https://elsewhere.example.com"}`); got != "[]" {
		t.Errorf("at another host, the headers are %s", got)
	}
}
