package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
	overlapping := i.run("key", "rotate", str(t, first, "id"), "--overlapHours", "1", "--json")
	rotated := parse[map[string]any](t, overlapping.stdout)
	if rotated["replaces"] != first["id"] || first["replaces"] != nil {
		t.Errorf("the key %v is made, and %v replaces it", first, rotated)
	}
	reader.expect(200, http.MethodGet, contactsPath, "")
	s.client(str(t, rotated, "key")).expect(200, http.MethodGet, contactsPath, "")
	if again := i.run("key", "rotate", str(t, first, "id"), "--overlapHours", "1"); again.code != 0 ||
		!strings.Contains(again.stderr, "note: the new key expires at ") {
		t.Errorf("a key that inherits the end of an overlap is created without a note: %q", again.stderr)
	}
	i.must("key", "revoke", str(t, first, "id"))
	if got := reader.do(http.MethodGet, contactsPath, ""); got.status != 401 || got.code() != "invalid_api_key" {
		t.Errorf("a revoked key returns %s", got)
	}
	next := i.run("key", "rotate", str(t, rotated, "id"), "--json")
	if next.code != 0 || !strings.Contains(next.stderr, "note: the old key works until ") || strings.Contains(next.stderr, "expires at") {
		t.Errorf("rotating a key prints %q", next.stderr)
	}
	s.client(str(t, rotated, "key")).expect(200, http.MethodGet, contactsPath, "")
	ended := i.run("key", "rotate", str(t, rotated, "id"), "--overlapHours", "0")
	if ended.code != 0 || !strings.Contains(ended.stderr, "note: the old key has stopped working") {
		t.Errorf("ending a key prints %q", ended.stderr)
	}
	if got := s.client(str(t, rotated, "key")).do(http.MethodGet, contactsPath, ""); got.status != 401 {
		t.Errorf("a key that was rotated without an overlap returns %s", got)
	}
	if got := i.run("key", "rotate", str(t, first, "id")); got.code != 1 ||
		!strings.Contains(got.stderr, "is revoked; create a new one instead") || !oneLine(got.stderr) {
		t.Errorf("rotating a revoked key exits with %d and prints %q", got.code, got.stderr)
	}
	keys := i.many("key", "list", "--tenant", tenantID)
	if len(keys) != 5 || keys[0]["revoked"] == nil || keys[4]["revoked"] != nil ||
		keys[0]["prefix"] != str(t, first, "key")[:12] || keys[0]["lastUsed"] == nil {
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

// Without a mail server, the command prints the link of an invitation, with which the member chooses a password.
func TestInvitationsByCommand(t *testing.T) {
	t.Parallel()
	i, _ := newTenant(t)
	s := i.serve()
	invited := i.one("member", "invite", "--tenant", "Acme", "--email", "ada@example.com", "--role", "admin")
	address, token, isLink := strings.Cut(str(t, invited, "url"), "#/invitation/")
	if !isLink || address != s.base+"/portal/" || invited["sent"] != false || invited["role"] != "admin" {
		t.Errorf("the invitation is %v", invited)
	}
	guest := s.client("")
	guest.expect(204, http.MethodPost, "/api/integrations/invitations/accept", `{"token":"`+token+`","password":"a long password"}`)
	guest.expect(200, http.MethodPost, "/api/collections/tenant_members/auth-with-password", `{"identity":"ada@example.com","password":"a long password"}`)
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
	address := str(t, i.one("inbound", "create", "Acme"), "url")
	if !strings.HasPrefix(address, s.base+"/api/hooks/cmi_") {
		t.Errorf("served at %s, the address is %s", s.base, address)
	}
	s.signIn().expect(200, http.MethodPatch, "/api/settings", `{"meta":{"appURL":"https://crm.example.com"}}`)
	s.stop()
	i.serve()
	address = str(t, i.one("inbound", "create", "Acme"), "url")
	if !strings.HasPrefix(address, "https://crm.example.com/api/hooks/") {
		t.Errorf("the address does not keep to the setting: %s", address)
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
