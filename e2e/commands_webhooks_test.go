package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// The id of a delivery can be found from the shell.
func TestDeliveryCommands(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	s := i.serve()
	i.must("tenant", "create", "Acme")
	c := s.client(str(t, i.one("key", "create", "Acme"), "key"))
	r := newReceiver(t)
	webhook := i.one("webhook", "create", "Acme", r.URL, "--filter", "data.name != nil", "--maxPerSecond", "50")
	if webhook["filter"] != "data.name != nil" || webhook["maxPerSecond"] != 50.0 {
		t.Errorf("the webhook is %v", webhook)
	}
	r.set(str(t, webhook, "secret"), nil)
	id := str(t, webhook, "id")
	if listed := i.must("delivery", "list", id); listed != "none\n" {
		t.Errorf("the deliveries are %s", listed)
	}
	c.expect(201, http.MethodPost, contactsPath, `{"name":"Ada"}`)
	c.expect(201, http.MethodPost, contactsPath, `{"name":"Bob"}`)
	r.await(t, "two events", atLeast(2))
	s.awaitRecords("deliveries", `status="delivered"`, 2)
	if listed := i.run("delivery", "list", id, "--limit", "1"); strings.Count(listed.stdout, "contact.created") != 1 ||
		!strings.Contains(listed.stderr, "--limit") {
		t.Errorf("one of two deliveries is listed as %s%s", listed.stdout, listed.stderr)
	}
	if listed := i.many("delivery", "list", id, "--status", "failed"); len(listed) != 0 {
		t.Errorf("failed are %v", listed)
	}
	listed := i.many("delivery", "list", id, "--status", "delivered", "--limit", "1")
	if len(listed) != 1 || listed[0]["type"] != "contact.created" || listed[0]["lastStatus"] != 204.0 ||
		listed[0]["lastError"] != nil {
		t.Fatalf("the list is %v", listed)
	}
	i.must("delivery", "redeliver", str(t, listed[0], "id"))
	if again := r.await(t, "the same again", atLeast(3))[2]; again.Name != "Bob" || again.Delivery != listed[0]["id"] {
		t.Errorf("what comes again is %+v", again)
	}
}

func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	s := i.serve()
	i.must("tenant", "create", "Acme")
	c := s.client(str(t, i.one("key", "create", "Acme"), "key"))
	all, created := newReceiver(t), newReceiver(t)
	webhook := i.one("webhook", "create", "Acme", all.URL, "--name", "all")
	all.set(str(t, webhook, "secret"), nil)
	typed := i.one("webhook", "create", "Acme", created.URL, "--secret", "my own secret", "--event", "contact.created",
		"--header", "X-Team: sales", "--header", "Authorization: Bearer a:b")
	if typed["secret"] != "my own secret" {
		t.Errorf("the webhook is %v", typed)
	}
	created.set("my own secret", func(w http.ResponseWriter, r *http.Request) {
		if team, token := r.Header.Get("X-Team"), r.Header.Get("Authorization"); team != "sales" || token != "Bearer a:b" {
			t.Errorf("the headers are %q and %q", team, token)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	i.refuses("--header must be a name and a value", "webhook", "create", "Acme", created.URL, "--header", "nothing")

	path := c.expect(201, http.MethodPost, contactsPath, `{"name":"Ada"}`).header.Get("Location")
	created.await(t, "the typed secret", atLeast(1))
	all.await(t, "the first secret", atLeast(1))
	secret := str(t, i.one("webhook", "rotate", str(t, webhook, "id")), "secret")
	if secret == webhook["secret"] {
		t.Error("a rotation changes nothing")
	}
	all.set(secret, nil)
	c.expect(200, http.MethodPatch, path, `{"name":"Ada Lovelace"}`)
	deliveries := all.await(t, "the next secret", atLeast(2))
	listed := i.many("webhook", "list")
	if len(listed) != 2 || listed[0]["secret"] != nil || listed[0]["disabled"] != false ||
		listed[0]["errorRate"] != 0.0 || listed[0]["pending"] != 0.0 || listed[0]["health"] == nil {
		t.Errorf("the list is %v", listed)
	}
	if table := i.must("webhook", "list"); !strings.Contains(table, "HEALTH") || !strings.Contains(table, "contact events") {
		t.Errorf("the table is %s", table)
	}
	i.must("webhook", "delete", str(t, webhook, "id"))
	c.expect(201, http.MethodPost, contactsPath, `{"name":"Bob"}`)
	for _, d := range append(deliveries, created.await(t, "a webhook beside a deleted one", atLeast(2))...) {
		if d.Error != "" {
			t.Errorf("the delivery %+v", d)
		}
	}
	if got := all.await(t, "", atLeast(2)); len(got) != 2 || got[0].Type != "contact.created" ||
		got[1].Type != "contact.updated" {
		t.Errorf("the webhook for all events got %+v", got)
	}
}

func TestInboundCommands(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	s := i.serve()
	i.must("tenant", "create", "Acme")
	created := i.one("inbound", "create", "Acme", "--name", "form", "--access", "full",
		"--mapping", `{"fields":{"email":"who.mail"}}`)
	token := str(t, created, "token")
	if !strings.HasSuffix(str(t, created, "url"), "/api/hooks/"+token) || created["access"] != "full" {
		t.Errorf("the webhook is %v", created)
	}
	c := s.client("")
	got := c.expect(200, http.MethodPost, "/api/hooks/"+token, `{"who":{"mail":"ada@example.com"}}`)
	if got.data()["created"] != 1.0 {
		t.Errorf("a call returns %s", got)
	}
	next := str(t, i.one("inbound", "rotate", str(t, created, "id")), "token")
	if got := c.do(http.MethodPost, "/api/hooks/"+token, `{}`); got.status != 401 || got.code() != "invalid_token" {
		t.Errorf("the old address returns %s", got)
	}
	c.expect(200, http.MethodGet, "/api/hooks/"+next, "")
	listed := i.many("inbound", "list")
	if len(listed) != 1 || listed[0]["prefix"] != next[:12] || listed[0]["token"] != nil {
		t.Errorf("the list is %v", listed)
	}
	i.must("inbound", "delete", str(t, created, "id"))
	signed := i.one("inbound", "create", "Acme", "--verifySecret", "shop secret of 22 bytes", "--verifyScheme", "shopify")
	if got := c.do(http.MethodPost, "/api/hooks/"+str(t, signed, "token"), `{"name":"Ada"}`); got.status != 401 ||
		got.code() != "invalid_signature" || signed["verifyScheme"] != "shopify" {
		t.Errorf("without a signature, %v returns %s", signed, got)
	}
	unsigned := i.one("inbound", "create", "Acme", "--mapping", `{"preset":"typeform"}`)
	for _, listed := range i.many("inbound", "list") {
		if want := map[any]any{signed["id"]: "shopify", unsigned["id"]: "typeform"}[listed["id"]]; listed["verifyScheme"] != want ||
			unsigned["verifyScheme"] != "typeform" {
			t.Errorf("%v is listed, and %v created", listed, unsigned)
		}
	}
	if table := i.must("inbound", "list"); !strings.Contains(table, "typeform (unused without verifySecret)") ||
		strings.Contains(table, "shopify (") {
		t.Errorf("the list does not say that nothing is verified without a secret:\n%s", table)
	}
	if got := c.do(http.MethodGet, "/api/hooks/"+next, ""); got.status != 401 {
		t.Errorf("a deleted address returns %s", got)
	}
}

// A webhook to a private address causes a warning if private addresses are not allowed. A test event to it
// counts as no failure.
func TestWarningOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	for address, warned := range map[string]bool{
		"https://example.com": false, "http://127.0.0.1:1": false, "http://10.1.2.3": true, "http://169.254.169.254": true,
	} {
		got := i.run("webhook", "create", "Acme", address)
		if got.code != 0 || strings.Contains(got.stderr, "--webhookAllow") != warned {
			t.Errorf("%s exits with %d and prints %q", address, got.code, got.stderr)
		}
	}
	for _, webhook := range i.many("webhook", "list") {
		if webhook["url"] == "https://example.com" {
			continue
		}
		id, refused := str(t, webhook, "id"), webhook["url"] != "http://127.0.0.1:1"
		got := i.run("webhook", "ping", id)
		if got.code != 1 || strings.Contains(got.stderr, "start the server with --webhookAllow") != refused ||
			refused && !oneLine(got.stderr) {
			t.Errorf("a ping of %v exits with %d and prints %q", webhook["url"], got.code, got.stderr)
		}
		if attempted := strings.Contains(got.stdout, "status      -\n"); attempted == refused ||
			len(i.many("delivery", "list", id)) > 0 == refused {
			t.Errorf("a ping of %v prints %q", webhook["url"], got.stdout)
		}
	}
}
