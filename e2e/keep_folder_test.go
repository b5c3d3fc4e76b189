package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// keepEnv is the environment variable with the version whose data directory is kept for the test of upgrades.
const keepEnv = "CONTACTBASE_E2E_KEEP"

// nowhere is an address without a listener, so that later tests with the directory reach no receiver.
const nowhere = "http://127.0.0.1:9/"

// TestKeepFolder makes the data directory of a released version, with some rows of each kind. It is run by hand.
func TestKeepFolder(t *testing.T) {
	version := os.Getenv(keepEnv)
	if version == "" {
		t.Skip(keepEnv + " names no version")
	}
	archive, saved := makeKept(t)
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(keptFolders, 0o755); err != nil {
		t.Fatal(err)
	}
	for suffix, data := range map[string][]byte{".zip": content, ".json": append(text, '\n')} {
		if err := os.WriteFile(filepath.Join(keptFolders, version+suffix), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// makeKept returns a backup of a data directory with some rows of each kind.
func makeKept(t *testing.T) (archive string, saved kept) {
	t.Helper()
	i := newInstallation(t).superuser()
	tenant := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "10000"), "id")
	i.must("tenant", "create", "Closed", "--disabled")
	i.must("member", "create", "--tenant", tenant, "--email", "ada@acme.example", "--role", "admin")
	saved.Key = str(t, i.one("key", "create", tenant, "--name", "all"), "key")
	i.must("key", "create", tenant, "--name", "reading", "--permission", "contacts:read", "--expires", "2099-01-31T00:00:00Z")
	i.must("key", "revoke", str(t, i.one("key", "create", tenant), "id"))
	taking, gone := newReceiver(t), httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(gone.Close)
	webhook := i.one("webhook", "create", tenant, taking.URL, "--name", "all")
	saved.Webhook, saved.Secret = str(t, webhook, "id"), str(t, webhook, "secret")
	taking.set(saved.Secret, nil)
	other := str(t, i.one("webhook", "create", tenant, gone.URL, "--event", "contact.created"), "id")
	i.must("webhook", "create", tenant, nowhere, "--filter", `data.company == "Initech"`, "--maxPerSecond", "5")
	upsert := str(t, i.one("inbound", "create", tenant, "--name", "form"), "token")
	i.must("inbound", "create", tenant, "--name", "mapped", "--mapping", `{"fields":{"email":"person.mail"}}`)
	full := str(t, i.one("inbound", "create", tenant, "--name", "everything", "--access", "full"), "token")

	s := i.serve()
	admin := s.signIn()
	addField(admin)
	c := s.client(saved.Key)
	c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada Lovelace","email":"ada@example.com","phone":"+44 20 7946 0001","nickname":"Countess"}`, "Idempotency-Key", "first")
	zoe := str(t, c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Zoë Müller","company":"Blüte GmbH"}`).data(), "id")
	c.expect(http.StatusOK, http.MethodPatch, contactsPath+"/"+zoe, `{"email":"zoe@example.com"}`)
	c.expect(http.StatusCreated, http.MethodPut, contactsPath+"/by-external-id/crm-1906", `{"name":"Grace Hopper"}`)
	c.expect(http.StatusOK, http.MethodPost, "/api/hooks/"+upsert, `{"first_name":"Niko","email":"niko@example.com"}`, "webhook-id", "call-1")
	c.expect(http.StatusOK, http.MethodPost, "/api/hooks/"+full, `{"email":"zoe@example.com","action":"delete"}`)
	const events = 6
	taking.await(t, "the receiver", atLeast(events))
	s.awaitRecords("deliveries", `status="delivered"`, events)
	db := openData(t, i.data)
	awaitCount(t, "deletions whose data is not erased yet", db, "SELECT count(*) FROM _deletions", 0)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{saved.Webhook, other} {
		admin.expect(http.StatusOK, http.MethodPatch, "/api/collections/webhooks/records/"+id, `{"url":"`+nowhere+`"}`)
	}
	saved.Contacts = c.expect(http.StatusOK, http.MethodGet, contactsPath, "").body
	saved.Events = c.expect(http.StatusOK, http.MethodGet, "/api/ext/v1/events?after=", "").body
	s.stop()
	return str(t, i.one("backup"), "path"), saved
}

// addField adds a custom field to contacts.
func addField(admin *client) {
	admin.t.Helper()
	collection := admin.expect(http.StatusOK, http.MethodGet, "/api/collections/contacts", "").json()
	fields, _ := collection["fields"].([]any)
	body, err := json.Marshal(map[string]any{"fields": append(fields, map[string]any{"type": "text", "name": "nickname"})})
	if err != nil {
		admin.t.Fatal(err)
	}
	admin.expect(http.StatusOK, http.MethodPatch, "/api/collections/contacts", string(body))
}
