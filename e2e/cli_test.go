package e2e

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that fails says why in one line and exits with another code than 0; one that succeeds prints no error.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	tenantID := str(t, i.one("tenant", "create", "Acme"), "id")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, args := range [][]string{
		{"--help"}, {"serve", "--help"}, {"tenant", "--help"}, {"key", "create", "--help"}, {"demo", "--help"}, {"--version"},
		{"tenant", "list"}, {"key", "list"}, {"key", "list", "--tenant", "Acme"}, {"webhook", "list"}, {"inbound", "list"},
	} {
		if got := i.run(args...); got.code != 0 || got.stderr != "" || got.stdout == "" {
			t.Errorf("%v exits with %d: %q %q", args, got.code, got.stdout, got.stderr)
		}
	}
	for _, tc := range []struct {
		says string // a part of the error
		args []string
	}{
		{"nonsense", []string{"nonsense"}},
		{"nonsense", []string{"--nonsense"}},
		{"nonsense", []string{"tenant", "nonsense"}},
		{"nonsense", []string{"tenant", "create", "A", "--nonsense"}},
		{"nonsense", []string{"serve", "--nonsense"}},
		{"tenant", []string{"tenant"}},
		{"arg", []string{"tenant", "create"}},
		{"arg", []string{"tenant", "create", "A", "B"}},
		{"unknown", []string{"tenant", "list", "surplus"}},
		{"many", []string{"tenant", "create", "A", "--rateLimit", "many"}},
		{"--yes", []string{"tenant", "delete", tenantID}},
		{"nobody", []string{"tenant", "delete", "nobody", "--yes"}},
		{"nobody", []string{"key", "create", "nobody"}},
		{"nobody", []string{"key", "list", "--tenant", "nobody"}},
		{"--expires", []string{"key", "create", "Acme", "--expires", "tomorrow"}},
		{"permissions", []string{"key", "create", "Acme", "--permission", "contacts:explode"}},
		{"unknown", []string{"key", "revoke", "unknown"}},
		{"unknown", []string{"key", "rotate", "unknown"}},
		{"url", []string{"webhook", "create", "Acme", "no address"}},
		{"url", []string{"webhook", "create", "Acme", "ftp://example.com"}},
		{"events", []string{"webhook", "create", "Acme", "https://example.com", "--event", "contact.exploded"}},
		{"secret", []string{"webhook", "create", "Acme", "https://example.com", "--secret", "short"}},
		{"unknown", []string{"webhook", "delete", "unknown"}},
		{"", []string{"webhook", "rotate", "unknown"}},
		{"access", []string{"inbound", "create", "Acme", "--access", "everything"}},
		{"mapping", []string{"inbound", "create", "Acme", "--mapping", `{"preset":"nonsense"}`}},
		{"mapping", []string{"inbound", "create", "Acme", "--mapping", `{`}},
		{"unknown", []string{"inbound", "delete", "unknown"}},
		{"", []string{"inbound", "rotate", "unknown"}},
		{"durability", []string{"serve", "--durability", "half"}},
		{"retentionDays", []string{"serve", "--retentionDays", "0"}},
		{"address already in use", []string{"serve", "--http", taken.Addr().String()}},
	} {
		got := i.run(tc.args...)
		if got.code == 0 || !strings.Contains(got.stderr, tc.says) || !oneLine(got.stderr) {
			t.Errorf("%v exits with %d and says %q (%q)", tc.args, got.code, got.stderr, got.stdout)
		}
	}
	if tenants := i.many("tenant", "list"); len(tenants) != 1 {
		t.Errorf("a failing command has left something behind: %v", tenants)
	}
	i.env = []string{"CONTACTBASE_WEBHOOK_ALLOW=everything"}
	if got := i.run("tenant", "list"); got.code == 0 || !strings.Contains(got.stderr, "CONTACTBASE_WEBHOOK_ALLOW") || !oneLine(got.stderr) {
		t.Errorf("a wrong environment exits with %d and says %q", got.code, got.stderr)
	}
}

// oneLine tells whether the text is an error as this program words it.
func oneLine(text string) bool {
	return strings.HasPrefix(text, "contactbase: ") && strings.HasSuffix(text, "\n") && strings.Count(text, "\n") == 1
}

// What another process does to a key or an address counts at the next request of the running server.
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
	reader.expect(200, http.MethodGet, contactsPath, "")
	s.client(str(t, rotated, "key")).expect(200, http.MethodGet, contactsPath, "")
	i.must("key", "revoke", str(t, first, "id"))
	if got := reader.do(http.MethodGet, contactsPath, ""); got.status != 401 || got.code() != "invalid_api_key" {
		t.Errorf("a revoked key gives %s", got)
	}
	i.must("key", "rotate", str(t, rotated, "id"))
	if got := s.client(str(t, rotated, "key")).do(http.MethodGet, contactsPath, ""); got.status != 401 {
		t.Errorf("a key that was rotated without an overlap gives %s", got)
	}
	keys := i.many("key", "list", "--tenant", tenantID)
	if len(keys) != 3 || keys[0]["revoked"] == nil || keys[2]["revoked"] != nil || keys[0]["prefix"] != str(t, first, "key")[:12] || keys[0]["lastUsed"] == nil {
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
		t.Errorf("the key of a deleted tenant gives %s", got)
	}
	if tenants := i.must("tenant", "list"); tenants != "none\n" {
		t.Errorf("the tenants are %s", tenants)
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
		t.Errorf("a call gives %s", got)
	}
	next := str(t, i.one("inbound", "rotate", str(t, created, "id")), "token")
	if got := c.do(http.MethodPost, "/api/hooks/"+token, `{}`); got.status != 401 || got.code() != "invalid_token" {
		t.Errorf("the old address gives %s", got)
	}
	c.expect(200, http.MethodGet, "/api/hooks/"+next, "")
	listed := i.many("inbound", "list")
	if len(listed) != 1 || listed[0]["prefix"] != next[:12] || listed[0]["token"] != nil {
		t.Errorf("the list is %v", listed)
	}
	i.must("inbound", "delete", str(t, created, "id"))
	if got := c.do(http.MethodGet, "/api/hooks/"+next, ""); got.status != 401 {
		t.Errorf("a deleted address gives %s", got)
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
	typed := i.one("webhook", "create", "Acme", created.URL, "--secret", "my own secret", "--event", "contact.created")
	if typed["secret"] != "my own secret" {
		t.Errorf("the webhook is %v", typed)
	}
	created.set("my own secret", nil)

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

// A tenant may be called like a command.
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

// Without --dir the data is beside the executable, in pb_data, also for a tenant called like a command.
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
