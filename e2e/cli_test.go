package e2e

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// A command that fails prints the reason in one line and exits with a code other than 0. A command that succeeds prints no error.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	tenantID := str(t, i.one("tenant", "create", "Acme"), "id")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, args := range [][]string{
		{"--help"}, {"serve", "--help"}, {"tenant", "--help"}, {"key", "create", "--help"}, {"demo", "--help"}, {"--version"},
		{"tenant", "list"}, {"key", "list"}, {"key", "list", "--tenant", "Acme"}, {"webhook", "list"}, {"inbound", "list"}, {"member", "list"},
	} {
		if got := i.run(args...); got.code != 0 || got.stderr != "" || got.stdout == "" {
			t.Errorf("%v exits with %d: %q %q", args, got.code, got.stdout, got.stderr)
		}
	}
	every := testenv.Count(3, 1) // each is a process
	for n, tc := range []struct {
		says string // a part of the error
		args []string
	}{
		{"see --help", []string{"nonsense"}},
		{"nonsense", []string{"--nonsense"}},
		{"see contactbase tenant --help", []string{"tenant", "nonsense"}},
		{"nonsense", []string{"tenant", "create", "A", "--nonsense"}},
		{"nonsense", []string{"serve", "--nonsense"}},
		{"tenant", []string{"tenant"}},
		{"NAME is missing; usage: contactbase tenant create NAME", []string{"tenant", "create"}},
		{"unknown argument \"B\"; usage:", []string{"tenant", "create", "A", "B"}},
		{"unknown", []string{"tenant", "list", "surplus"}},
		{"--rateLimit must be a whole number, not \"many\"", []string{"tenant", "create", "A", "--rateLimit", "many"}},
		{"--yes", []string{"tenant", "delete", tenantID}},
		{"nobody", []string{"tenant", "delete", "nobody", "--yes"}},
		{"nobody", []string{"key", "create", "nobody"}},
		{"nobody", []string{"key", "list", "--tenant", "nobody"}},
		{"--expires", []string{"key", "create", "Acme", "--expires", "tomorrow"}},
		{"--permission must be contacts:read or contacts:write", []string{"key", "create", "Acme", "--permission", "contacts:explode"}},
		{"future", []string{"key", "create", "Acme", "--expires", "2020-01-31T00:00:00Z"}},
		{"no key has the ID \"unknown\"; look it up with the list command\n", []string{"key", "revoke", "unknown"}},
		{"no key has the ID \"unknown\"; look it up with the list command\n", []string{"key", "rotate", "unknown"}},
		{"--expires must be in the future", []string{"key", "rotate", "unknown", "--expires", "2020-01-31T00:00:00Z"}},
		{"turn on OTP", []string{"superuser", "otp", superuserEmail}},
		{"creating the webhook: the URL ", []string{"webhook", "create", "Acme", "no address"}},
		{"creating the webhook: the URL ", []string{"webhook", "create", "Acme", "ftp://example.com"}},
		{"--event must be contact.created, ", []string{"webhook", "create", "Acme", "https://example.com", "--event", "contact.exploded"}},
		{"secret", []string{"webhook", "create", "Acme", "https://example.com", "--secret", "short"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"webhook", "delete", "unknown"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"webhook", "rotate", "unknown"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"webhook", "ping", "unknown"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"webhook", "recover", "unknown", "--since", "2026-01-31T00:00:00Z"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"delivery", "list", "unknown"}},
		{"--status must be pending, delivered or failed", []string{"delivery", "list", "unknown", "--status", "lost"}},
		{"--limit", []string{"delivery", "list", "unknown", "--limit", "0"}},
		{"no delivery has the ID \"unknown\"; look it up with the list command\n", []string{"delivery", "redeliver", "unknown"}},
		{"--access must be upsert or full", []string{"inbound", "create", "Acme", "--access", "everything"}},
		{"--verifyScheme must be standard, x-signature, shopify", []string{"inbound", "create", "Acme", "--verifyScheme", "jotform"}},
		{"creating the inbound webhook: the scheme needs the secret", []string{"inbound", "create", "Acme", "--verifyScheme", "tally"}},
		{"mapping", []string{"inbound", "create", "Acme", "--mapping", `{"preset":"nonsense"}`}},
		{"mapping", []string{"inbound", "create", "Acme", "--mapping", `{`}},
		{"no inbound webhook has the ID \"unknown\"; look it up with the list command\n", []string{"inbound", "delete", "unknown"}},
		{"no inbound webhook has the ID \"unknown\"; look it up with the list command\n", []string{"inbound", "rotate", "unknown"}},
		{"must not be a path", []string{"backup", "a/b"}},
		{"durability", []string{"serve", "--durability", "half"}},
		{"--replicaMode: sync requires --durability to be full", []string{"serve", "--replica", "file://" + t.TempDir(), "--replicaMode", "sync", "--durability", "normal"}},
		{"unknown flag: --retentionDays", []string{"tenant", "list", "--retentionDays", "7"}},
		{"retentionDays", []string{"serve", "--retentionDays", "0"}},
		{"--retentionDays must be a whole number, not \"abc\"", []string{"serve", "--retentionDays", "abc"}},
		{"deliveriesInFlight must be from 1 to 65536", []string{"serve", "--deliveriesInFlight", "0"}},
		{"deliveriesPerEndpoint must be from 1 to 1000", []string{"serve", "--deliveriesPerEndpoint", "1001"}},
		{"--metricsAddr", []string{"serve", "--metricsAddr", taken.Addr().String()}},
		{"--debugAddr", []string{"serve", "--debugAddr", taken.Addr().String()}},
		{taken.Addr().String() + ": bind: address already in use; choose another address with --http", []string{"serve", "--http", taken.Addr().String()}},
	} {
		if n%every != 0 {
			continue
		}
		got := i.run(tc.args...)
		if got.code == 0 || !strings.Contains(got.stderr, tc.says) || !oneLine(got.stderr) || strings.Contains(got.stderr, "..") || tc.args[0] == "serve" && got.stdout != "" {
			t.Errorf("%v exits with %d and prints %q (%q)", tc.args, got.code, got.stderr, got.stdout)
		}
	}
	if tenants := i.many("tenant", "list"); len(tenants) != 1 || tenants[0]["rateLimit"] != 0.0 || !strings.Contains(i.must("tenant", "list"), "  600 (default)  ") {
		t.Errorf("a failing command has left something behind, or the rate limit is wrong: %v", tenants)
	}
	i.env = []string{"CONTACTBASE_WEBHOOK_ALLOW=everything"}
	if got := i.run("tenant", "list"); got.code == 0 || !strings.Contains(got.stderr, "CONTACTBASE_WEBHOOK_ALLOW") || !oneLine(got.stderr) {
		t.Errorf("an invalid environment exits with %d and prints %q", got.code, got.stderr)
	}
}

// oneLine reports whether the text is an error in the format of this program.
func oneLine(text string) bool {
	return strings.HasPrefix(text, "contactbase: ") && strings.HasSuffix(text, "\n") && strings.Count(text, "\n") == 1
}

// A change of a key or webhook by another process takes effect at the next request of the running server.
func TestCommandsCountAtOnce(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	s := i.serve()
	tenantID := str(t, i.one("tenant", "create", "Acme"), "id")

	first := i.one("key", "create", "Acme", "--name", "first", "--permission", "contacts:read")
	reader := s.client(str(t, first, "key"))
	reader.expect(200, http.MethodGet, contactsPath, "")
	if got := reader.do(http.MethodPost, contactsPath, `{"name":"A"}`); got.code() != "insufficient_permission" {
		t.Errorf("a key for reading writes: %s", got)
	}
	rotated := i.one("key", "rotate", str(t, first, "id"), "--overlapHours", "1")
	if rotated["replaces"] != first["id"] || first["replaces"] != nil {
		t.Errorf("the key %v is made, and %v replaces it", first, rotated)
	}
	reader.expect(200, http.MethodGet, contactsPath, "")
	s.client(str(t, rotated, "key")).expect(200, http.MethodGet, contactsPath, "")
	if again := i.run("key", "rotate", str(t, first, "id"), "--overlapHours", "1"); again.code != 0 || !strings.Contains(again.stderr, "note: the new key expires at ") {
		t.Errorf("a key that inherits the end of an overlap is created without a note: %q", again.stderr)
	}
	i.must("key", "revoke", str(t, first, "id"))
	if got := reader.do(http.MethodGet, contactsPath, ""); got.status != 401 || got.code() != "invalid_api_key" {
		t.Errorf("a revoked key returns %s", got)
	}
	i.must("key", "rotate", str(t, rotated, "id"))
	if got := s.client(str(t, rotated, "key")).do(http.MethodGet, contactsPath, ""); got.status != 401 {
		t.Errorf("a key that was rotated without an overlap returns %s", got)
	}
	if got := i.run("key", "rotate", str(t, first, "id")); got.code != 1 || !strings.Contains(got.stderr, "is revoked; create a new one instead") || !oneLine(got.stderr) {
		t.Errorf("rotating a revoked key exits with %d and prints %q", got.code, got.stderr)
	}
	keys := i.many("key", "list", "--tenant", tenantID)
	if len(keys) != 4 || keys[0]["revoked"] == nil || keys[3]["revoked"] != nil || keys[0]["prefix"] != str(t, first, "key")[:12] || keys[0]["lastUsed"] == nil {
		t.Errorf("the keys are %v", keys)
	}
	for _, key := range keys {
		if _, there := key["key"]; there {
			t.Error("a list shows a key again")
		}
	}

	writer := s.client(str(t, i.one("key", "create", tenantID), "key"))
	writer.expect(201, http.MethodPost, contactsPath, `{"name":"A"}`)
	i.must("tenant", "delete", "Acme", "--yes")
	if got := writer.do(http.MethodGet, contactsPath, ""); got.status != 401 {
		t.Errorf("the key of a deleted tenant returns %s", got)
	}
	if tenants := i.must("tenant", "list"); tenants != "none\n" {
		t.Errorf("the tenants are %s", tenants)
	}
}

// If two tenants have the same name, commands do not accept it.
func TestNamesakes(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	first := str(t, i.one("tenant", "create", "Acme"), "id")
	got := i.run("tenant", "create", "Acme", "--json")
	second := str(t, parse[map[string]any](t, got.stdout), "id")
	if got.code != 0 || !strings.Contains(got.stderr, `2 tenants are now named "Acme"`) {
		t.Errorf("the second exits with %d and prints %q", got.code, got.stderr)
	}
	got = i.run("key", "create", "Acme")
	if got.code == 0 || !strings.Contains(got.stderr, first) || !strings.Contains(got.stderr, second) {
		t.Errorf("a key for either exits with %d and prints %q", got.code, got.stderr)
	}
	i.must("key", "create", second)
}

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
	if listed := i.run("delivery", "list", id, "--limit", "1"); strings.Count(listed.stdout, "contact.created") != 1 || !strings.Contains(listed.stderr, "--limit") {
		t.Errorf("one of two deliveries is listed as %s%s", listed.stdout, listed.stderr)
	}
	if listed := i.many("delivery", "list", id, "--status", "failed"); len(listed) != 0 {
		t.Errorf("failed are %v", listed)
	}
	listed := i.many("delivery", "list", id, "--status", "delivered", "--limit", "1")
	if len(listed) != 1 || listed[0]["type"] != "contact.created" || listed[0]["lastStatus"] != 204.0 || listed[0]["lastError"] != nil {
		t.Fatalf("the list is %v", listed)
	}
	i.must("delivery", "redeliver", str(t, listed[0], "id"))
	if again := r.await(t, "the same again", atLeast(3))[2]; again.Name != "Bob" || again.Delivery != listed[0]["id"] {
		t.Errorf("what comes again is %+v", again)
	}
}

// The URLs that serve prints work, and those of inbound webhooks are served.
func TestServedAddresses(t *testing.T) {
	t.Parallel()
	i, _ := newTenant(t)
	s := i.serve()
	for _, path := range []string{"/api/ext/v1", "/docs/reference", "/_/"} {
		if !s.prints(s.base + path + "\n") {
			t.Errorf("the server does not say where %s is:\n%s", path, s.output)
		}
	}
	c := s.client("")
	for _, path := range []string{"/docs", "/docs/reference", "/_/"} {
		c.expect(200, http.MethodGet, path, "")
	}
	if got := c.expect(301, http.MethodGet, "/docs/", ""); got.header.Get("Location") != "../docs" {
		t.Errorf("/docs/ returns %s", got)
	}
	if address := str(t, i.one("inbound", "create", "Acme"), "url"); !strings.HasPrefix(address, s.base+"/api/hooks/cmi_") {
		t.Errorf("served at %s, the address is %s", s.base, address)
	}
	s.signIn().expect(200, http.MethodPatch, "/api/settings", `{"meta":{"appURL":"https://crm.example.com"}}`)
	s.stop()
	i.serve()
	if address := str(t, i.one("inbound", "create", "Acme"), "url"); !strings.HasPrefix(address, "https://crm.example.com/api/hooks/") {
		t.Errorf("the address does not keep to the setting: %s", address)
	}
}

// A webhook to a private address causes a warning if private addresses are not allowed. A test event to it counts as no failure.
func TestWarningOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	for address, warned := range map[string]bool{"https://example.com": false, "http://127.0.0.1:1": false, "http://10.1.2.3": true, "http://169.254.169.254": true} {
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
		if got.code != 1 || strings.Contains(got.stderr, "pass the --webhookAllow of the server") != refused || refused && !oneLine(got.stderr) {
			t.Errorf("a ping of %v exits with %d and prints %q", webhook["url"], got.code, got.stderr)
		}
		if attempted := strings.Contains(got.stdout, "status      -\n"); attempted == refused || len(i.many("delivery", "list", id)) > 0 == refused {
			t.Errorf("a ping of %v prints %q", webhook["url"], got.stdout)
		}
	}
}

func TestInboundCommands(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	s := i.serve()
	i.must("tenant", "create", "Acme")
	created := i.one("inbound", "create", "Acme", "--name", "form", "--access", "full", "--mapping", `{"fields":{"email":"who.mail"}}`)
	token := str(t, created, "token")
	if !strings.HasSuffix(str(t, created, "url"), "/api/hooks/"+token) || created["access"] != "full" {
		t.Errorf("the webhook is %v", created)
	}
	c := s.client("")
	if got := c.expect(200, http.MethodPost, "/api/hooks/"+token, `{"who":{"mail":"ada@example.com"}}`); got.data()["created"] != 1.0 {
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
	if got := c.do(http.MethodPost, "/api/hooks/"+str(t, signed, "token"), `{"name":"Ada"}`); got.status != 401 || got.code() != "invalid_signature" || signed["verifyScheme"] != "shopify" {
		t.Errorf("without a signature, %v returns %s", signed, got)
	}
	unsigned := i.one("inbound", "create", "Acme", "--mapping", `{"preset":"typeform"}`)
	for _, listed := range i.many("inbound", "list") { // without a secret, nothing is verified
		if want := map[any]any{signed["id"]: "shopify"}[listed["id"]]; listed["verifyScheme"] != want || unsigned["verifyScheme"] != "typeform" {
			t.Errorf("%v is listed, and %v created", listed, unsigned)
		}
	}
	if got := c.do(http.MethodGet, "/api/hooks/"+next, ""); got.status != 401 {
		t.Errorf("a deleted address returns %s", got)
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
	if len(listed) != 2 || listed[0]["secret"] != nil || listed[0]["disabled"] != false {
		t.Errorf("the list is %v", listed)
	}
	i.must("webhook", "delete", str(t, webhook, "id"))
	c.expect(201, http.MethodPost, contactsPath, `{"name":"Bob"}`)
	for _, d := range append(deliveries, created.await(t, "a webhook beside a deleted one", atLeast(2))...) {
		if d.Error != "" {
			t.Errorf("the delivery %+v", d)
		}
	}
	if got := all.await(t, "", atLeast(2)); len(got) != 2 || got[0].Type != "contact.created" || got[1].Type != "contact.updated" {
		t.Errorf("the webhook for all events got %+v", got)
	}
}

// A tenant may have the name of a command.
func TestNameOfACommand(t *testing.T) {
	t.Parallel()
	i, temp := newInstallation(t), t.TempDir()
	i.env = []string{"TMPDIR=" + temp}
	i.must("tenant", "create", "demo")
	i.must("key", "create", "demo", "--name", "demo")
	if tenants := i.many("tenant", "list"); len(tenants) != 1 || tenants[0]["name"] != "demo" {
		t.Errorf("the tenants are %v", tenants)
	}
	if keys := i.many("key", "list", "--tenant", "demo"); len(keys) != 1 {
		t.Errorf("the keys are %v", keys)
	}
	if left := listFolder(t, temp); len(left) > 0 {
		t.Errorf("the temporary folder holds %v", left)
	}
}

// Without --dir, the data is in pb_data beside the executable, even for a tenant with the name of a command.
func TestDefaultFolder(t *testing.T) {
	t.Parallel()
	dir, temp := t.TempDir(), t.TempDir()
	local := filepath.Join(dir, "contactbase")
	if err := os.Link(binary(t), local); err != nil {
		t.Skipf("the executable cannot be linked here: %v", err)
	}
	for _, flag := range []string{"--help", "-h", "--version"} {
		got := finish(t, inFolder(t, dir, temp, local, flag))
		if left := listFolder(t, dir); got.code != 0 || len(left) != 1 {
			t.Errorf("%s exits with %d and leaves %v", flag, got.code, left)
		}
	}
	for _, args := range [][]string{{"tenant", "create", "demo"}, {"tenant", "list"}} {
		got := finish(t, inFolder(t, dir, temp, local, args...))
		if got.code != 0 || !strings.Contains(got.stdout, "demo") {
			t.Errorf("%v exits with %d: %q %q", args, got.code, got.stdout, got.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pb_data", "data.db")); err != nil {
		t.Error(err)
	}
	if left := listFolder(t, temp); len(left) > 0 {
		t.Errorf("the temporary folder holds %v", left)
	}
}
