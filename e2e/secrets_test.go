package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A session uses every credential, correctly and with common mistakes. Afterwards no credential is in the data
// directory or in the output of the server, and no response has repeated one.
func TestNoCredentialIsLeftBehind(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.args = []string{"--encryptionEnv", "CB_KEY"}
	i.env = []string{"CB_KEY=0123456789abcdef0123456789abcdef"}
	i.superuser()
	i.must("tenant", "create", "Acme")
	key := i.one("key", "create", "Acme")
	revoked := i.one("key", "create", "Acme")
	i.must("key", "revoke", str(t, revoked, "id"))
	inbound := i.one("inbound", "create", "Acme", "--access", "full")
	r := newReceiver(t)
	webhook := i.one("webhook", "create", "Acme", r.URL)
	const typedSecret, verifySecret, headerValue = "typed-by-hand-Zq8wLr", "verify-me-Xk3vTn5p", "Bearer-Lw9sJd2m"
	typed := newReceiver(t)
	i.must("webhook", "create", "Acme", typed.URL, "--secret", typedSecret)
	r.set(str(t, webhook, "secret"), nil)
	typed.set(typedSecret, nil)

	s := i.serve()
	admin := s.signIn()
	admin.expect(200, http.MethodPatch, "/api/collections/inbound_webhooks/records/"+str(t, inbound, "id"), `{"verifySecret":"`+verifySecret+`"}`)
	admin.expect(200, http.MethodPatch, "/api/collections/webhooks/records/"+str(t, webhook, "id"), `{"headers":{"X-Token":"`+headerValue+`"}}`)
	second := str(t, admin.expect(200, http.MethodPost, "/api/integrations/keys/"+str(t, key, "id")+"/rotate", `{"overlapHours":1}`).data(), "key")
	rotated := str(t, admin.expect(200, http.MethodPost, "/api/integrations/webhooks/"+str(t, webhook, "id")+"/rotate", "").data(), "secret")
	r.set(rotated, nil)

	session := &session{t: t, s: s, key: str(t, key, "key"), token: str(t, inbound, "token")}
	session.rightly(verifySecret)
	r.await(t, "the generated secret", atLeast(2))
	typed.await(t, "the typed secret", atLeast(2))
	session.wrongly(str(t, revoked, "key"))
	s.stop()

	haystack := readFolder(t, i.data)
	haystack["the output of the server"] = []byte(s.output.String())
	for what, needle := range map[string]string{
		// without the prefix, so that an encoded underscore hides nothing
		"the key":                  session.key[len("cmk_"):],
		"the rotated key":          second[len("cmk_"):],
		"the revoked key":          str(t, revoked, "key")[len("cmk_"):],
		"the token":                session.token[len("cmi_"):],
		"the webhook's secret":     strings.TrimPrefix(str(t, webhook, "secret"), "whsec_"),
		"the rotated secret":       strings.TrimPrefix(rotated, "whsec_"),
		"the typed secret":         typedSecret,
		"the secret for verifying": verifySecret,
		"the value of a header":    headerValue,
		"the superuser's password": superuserPassword,
		"the encryption key":       "0123456789abcdef0123456789abcdef",
	} {
		for file, content := range haystack {
			for from := 0; ; {
				at := bytes.Index(content[from:], []byte(needle))
				if at < 0 {
					break
				}
				at += from
				from = at + len(needle)
				t.Errorf("%s is in %s: …%q…", what, file, content[max(0, at-120):min(len(content), from+40)])
			}
		}
	}
	// the log was written, so the search would have found a credential in it
	for _, there := range []string{"requests refused", "lastRoute"} {
		if !contains(haystack, there) {
			t.Errorf("%q is in no file: the log of requests is not what was searched", there)
		}
	}
}

// The first start with an encryption key encrypts the secrets of a data directory that was created without one. From
// then on the directory works only with that key, and the error says what is missing.
func TestEncryptionFromNowOn(t *testing.T) {
	t.Parallel()
	i, _, key := newKey(t)
	inbound := i.one("inbound", "create", "Acme")
	r := newReceiver(t)
	webhook := i.one("webhook", "create", "Acme", r.URL)
	secret := str(t, i.one("webhook", "rotate", str(t, webhook, "id")), "secret") // the first one is kept for a day
	r.set(secret, nil)
	const verifySecret = "verify-me-Xk3vTn5p"
	s := i.serve()
	s.signIn().expect(200, http.MethodPatch, "/api/collections/inbound_webhooks/records/"+str(t, inbound, "id"), `{"verifySecret":"`+verifySecret+`"}`)
	s.stop()
	plain := []string{str(t, webhook, "secret"), secret, verifySecret, `"appURL"`}
	if found := storedSecrets(t, i); !slices.Contains(found, secret) {
		t.Fatalf("there is no plaintext to begin with: %q", found)
	}

	i.args = []string{"--encryptionEnv", "CB_KEY"}
	i.env = []string{"CB_KEY=0123456789abcdef0123456789abcdef"}
	for range 2 { // the second start has nothing left to do
		s = i.serve()
		session := &session{t: t, s: s, key: key, token: str(t, inbound, "token")}
		session.rightly(verifySecret)
		s.stop()
	}
	for _, d := range r.await(t, "a sealed secret", atLeast(2)) {
		if d.Error != "" {
			t.Errorf("the delivery %+v", d)
		}
	}
	for _, stored := range storedSecrets(t, i) {
		for _, clear := range plain {
			if strings.Contains(stored, clear) {
				t.Errorf("%q is stored in plaintext: %q", clear, stored)
			}
		}
	}

	for _, tc := range []struct {
		args, env []string
	}{
		{nil, nil},
		{[]string{"--encryptionEnv", "CB_KEY"}, []string{"CB_KEY=another 32 characters, not these"}},
		{[]string{"--encryptionEnv", "CB_KEY"}, []string{"CB_KEY=short"}},
		{[]string{"--encryptionEnv", "CB_KEY"}, nil},
		{[]string{"--encryptionEnv="}, nil},
	} {
		i.args, i.env = tc.args, tc.env
		for _, command := range [][]string{{"tenant", "list"}, {"serve", "--http", "127.0.0.1:0"}} {
			if got := i.run(command...); got.code == 0 || !strings.Contains(got.stderr, "--encryptionEnv") || !oneLine(got.stderr) {
				t.Errorf("%v with %v and %v exits with %d and prints %q", command, tc.args, tc.env, got.code, got.stderr)
			}
		}
	}
}

// storedSecrets returns the stored secrets and settings of an installation without a running server.
func storedSecrets(t *testing.T, i *installation) []string {
	t.Helper()
	db := openData(t, i.data)
	defer db.Close()
	var found []string
	rows(t, db, "SELECT `secret` FROM `webhooks` UNION ALL SELECT `previousSecret` FROM `webhooks` UNION ALL SELECT `olderSecrets` FROM `webhooks` UNION ALL "+
		"SELECT `verifySecret` FROM `inbound_webhooks` UNION ALL SELECT CAST(`value` AS TEXT) FROM `_params` WHERE `id` = 'settings'",
		func(row []string) { found = append(found, row[0]) })
	return found
}

func contains(files map[string][]byte, text string) bool {
	for _, content := range files {
		if bytes.Contains(content, []byte(text)) {
			return true
		}
	}
	return false
}

// readFolder returns the contents of every file in the directory.
func readFolder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// session sends the requests of integrators and external systems.
type session struct {
	t     *testing.T
	s     *server
	key   string
	token string
}

// rightly uses the credentials correctly.
func (n *session) rightly(verifySecret string) {
	c := n.s.client("")
	c.expect(201, http.MethodPost, contactsPath, `{"name":"Ada"}`, "X-API-Key", n.key)
	c.expect(200, http.MethodGet, contactsPath+"?q=ada", "", "Authorization", "Bearer "+n.key)
	n.s.model(n.key).call("search_contacts", map[string]any{"q": "ada"})
	const body = `{"email":"bob@example.com"}`
	mac := hmac.New(sha256.New, []byte(verifySecret))
	mac.Write([]byte(body))
	c.expect(200, http.MethodPost, "/api/hooks/"+n.token, body, "X-Signature", hex.EncodeToString(mac.Sum(nil)))
	c.expect(200, http.MethodGet, "/api/hooks/"+n.token, "")
}

// wrongly sends the credentials in wrong places. No response may repeat one.
func (n *session) wrongly(revoked string) {
	c := n.s.client("")
	encoded := strings.Replace(n.token, "_", "%5F", 1)
	for _, tc := range []struct {
		method, path string
		header       []string
	}{
		{"POST", "/api/wrong/marker", nil},
		{"POST", "/api/hooks/" + n.token, []string{"X-Signature", "wrong"}},
		{"POST", "/api/hooks/" + n.token, []string{"Content-Type", "text/plain"}},
		{"DELETE", "/api/hooks/" + n.token, nil},
		{"PUT", "/api/hooks/" + n.token + "/", nil},
		{"POST", "/api/hooks/" + n.token + "/x", nil},
		{"POST", "/api/hooks/" + n.token + "?token=" + n.token, nil},
		{"POST", "/api/hooks/" + encoded + "x", nil},
		{"POST", "/api/hooks/x" + n.token, nil},
		{"POST", "/api/hook/" + n.token, nil},
		{"POST", "/api/hook/" + encoded, nil},
		{"POST", "/API/HOOKS/" + n.token, nil},
		{"POST", "//api/hooks/" + n.token, nil},
		{"POST", "/api/x/../hooks/" + n.token, nil},
		{"GET", "/hooks/" + n.token, nil},
		{"GET", "/" + n.token, nil},
		{"GET", "/_/" + n.token, nil},
		{"GET", contactsPath + "?key=" + n.key, nil},
		{"GET", contactsPath + "?" + n.key, []string{"X-API-Key", n.key}},
		{"GET", contactsPath + "?" + n.key + "=1&limit=" + n.key, []string{"X-API-Key", n.key}},
		{"GET", contactsPath + "?q=" + n.key, []string{"X-API-Key", n.key}},
		{"GET", contactsPath + "?cursor=" + n.key, []string{"X-API-Key", n.key}},
		{"GET", contactsPath + "/" + n.key, []string{"X-API-Key", n.key}},
		{"PATCH", contactsPath + "/" + n.key, []string{"X-API-Key", n.key}},
		{"GET", contactsPath, []string{"X-API-Key", revoked}},
		{"GET", contactsPath, []string{"Authorization", n.key}},
		{"GET", contactsPath, []string{"Authorization", "Bearer " + n.key + "x"}},
		{"GET", contactsPath, []string{"X-API-Key", n.token}},
		{"GET", contactsPath, []string{"X-API-Key", n.key, "X-Request-Id", n.key}},
		{"GET", contactsPath, []string{"X-API-Key", n.key, "Referer", "https://example.com/?key=" + n.key, "User-Agent", "curl " + n.key}},
		{"POST", "/mcp?key=" + n.key, []string{"X-API-Key", n.key}},
		{"POST", "/mcp/" + n.key, nil},
		{"GET", "/api/health?key=" + n.key, nil},
		{"GET", "/api/health?key=" + strings.Replace(n.key, "_", "%5f", 1), nil},
		{"GET", "/api/health", []string{"Referer", "https://example.com/api/hooks/" + n.token, "User-Agent", "curl " + n.key}},
		{"GET", "/api/collections/contacts/records?filter=" + url.QueryEscape(`(name="`+n.key+`")`), []string{"Authorization", "Bearer " + n.key}},
		{"GET", "/api/collections/" + n.key + "/records", nil},
		{"POST", "/api/integrations/webhooks/" + n.key + "/ping", nil},
		{"GET", "/api/ext/v2/contacts?key=" + n.key, nil},
	} {
		body := ""
		if tc.method != "GET" {
			body = `{"` + n.key + `":1,"name":"` + "x" + `"}`
		}
		got := c.do(tc.method, tc.path, body, tc.header...)
		for _, secret := range []string{n.token, revoked} { // a parameter that is named like the key is named in the error
			if bytes.Contains(got.body, []byte(secret[len("cmi_"):])) {
				n.t.Errorf("%s %s repeats a credential: %s", tc.method, tc.path, got)
			}
		}
	}
}
