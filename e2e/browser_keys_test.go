package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// A key is shown once. After its window is closed, it is stored nowhere. This applies to the page of keys and to
// PocketBase's own page of the collection.
func TestBrowserKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	b := s.newBrowser().signIn(s)

	b.integrations("/keys", "API keys")
	b.sees("No keys yet")
	b.look("keys-empty")
	b.click("New key")
	b.fill("Name", "website")
	b.look("key-form")
	b.click("Create key")
	key := b.shown("API key")
	b.click("I have stored it")
	b.closed()
	b.sees("website")
	b.sees(key[:12])
	forgotten(b, i, key)

	b.open("/_/#/collections?collection=api_keys")
	b.wait("the collection", `app.store.activeCollection?.name === "api_keys"`)
	b.run(`app.modals.openRecordUpsert(app.store.activeCollection, { tenant: ` + quote(tenant) + `, name: "from the collection screen" })`)
	b.wait("the form", scope+`.querySelector('[name="name"]')?.value`)
	b.run(`[...` + scope + `.querySelectorAll(".dropdown-item")].find((el) => el.textContent.startsWith("Save and continue")).click()`)
	other := b.shown("API key")
	b.shot("key-collection-screen")
	b.click("I have stored it")
	b.closed()
	b.run(`(() => { const el = ` + scope + `.querySelector('[name="name"]'); el.value = "renamed"; el.dispatchEvent(new Event("input", { bubbles: true })) })()`)
	b.wait("the draft of the change", `Object.keys(localStorage).some((name) => name.startsWith("draft_"))`)
	forgotten(b, i, other)
	saved := b.notices("Successfully updated")
	b.click("Save changes")
	saved()
	forgotten(b, i, other)

	if answer := s.client(key).do("GET", contactsPath, ""); answer.status != 200 {
		t.Errorf("the key that was shown returns %s", answer)
	}
}

// forgotten fails the test if a secret is left in the page, the browser's storage, a request or response other than
// the one that brought it, or the files of the installation.
func forgotten(b *browser, i *installation, secret string) {
	b.t.Helper()
	for place, expression := range map[string]string{
		"the page":            `document.documentElement.outerHTML + [...document.querySelectorAll("input, textarea")].map((el) => el.value)`,
		"the local storage":   `JSON.stringify(localStorage)`,
		"the session storage": `JSON.stringify(sessionStorage)`,
		"the address":         `location.href`,
	} {
		if strings.Contains(evaluate[string](b, expression), secret) {
			b.t.Errorf("%s still holds the secret", place)
		}
	}
	var sent, received []string
	await(b.t, "the answer that brought the secret", func() bool { // the browser reports it independently of the page
		sent, received = b.traces(secret)
		return len(received) > 0
	})
	if len(sent) > 0 || len(received) != 1 {
		b.t.Errorf("the secret was sent to %v and came from %v", sent, received)
	}
	err := filepath.WalkDir(i.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // the server has removed it
			return nil
		}
		if strings.Contains(string(content), secret) {
			b.t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		b.t.Error(err)
	}
}

func TestBrowserKeyLife(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "repeats in a browser what the tests of keys do without one")
	i, tenant := newTenant(t)
	old := str(t, i.one("key", "create", tenant, "--name", "website"), "key")
	s := i.serve()
	b := s.newBrowser().signIn(s)

	b.integrations("/keys", "API keys")
	b.click("New key")
	b.fill("Name", "reader")
	b.click("Create and update contacts")
	b.fill("Expires", time.Now().AddDate(13, 1, 0).Format("2006-01-02T15:04"))
	b.click("Create key")
	line := b.shown("Try it in a terminal")
	if strings.Contains(line, " -d ") {
		t.Errorf("a key that may only read is tried with %s", line)
	}
	b.click("I have stored it")
	b.closed()
	b.sees("in 13 years")
	b.click("New key")
	b.click("Read contacts")
	b.click("Create and update contacts")
	b.click("Create key")
	b.sees("Choose at least one permission.")
	b.click("Read contacts")
	b.click("Create key")
	b.sees("Cannot be blank.")
	b.look("key-form-fault")
	b.click("Cancel")
	b.closed()

	b.click("Rotate the key reader")
	b.look("key-rotate")
	b.fill("Expires", "2020-01-31T12:00")
	b.click("Rotate key")
	b.sees("Choose an expiry in the future.")
	b.fill("Expires", time.Now().AddDate(20, 1, 0).Format("2006-01-02T15:04"))
	b.click("Rotate key")
	if line := b.shown("Try it in a terminal"); strings.Contains(line, " -d ") {
		t.Errorf("the successor of a key that may only read is tried with %s", line)
	}
	b.click("I have stored it")
	b.closed()
	b.sees("in 20 years")
	b.click("Rotate the key website")
	b.click("Rotate key") // the old one works for a day
	successor := b.shown("API key")
	b.click("I have stored it")
	b.closed()
	for name, key := range map[string]string{"old": old, "new": successor} {
		if answer := s.client(key).do("GET", contactsPath, ""); answer.status != 200 {
			t.Errorf("the %s key returns %s", name, answer)
		}
	}
	b.fill("Search by name or prefix", successor[:12])
	b.wait("one key", `document.querySelectorAll(".integrations-table tbody tr").length === 1`)
	b.click("Revoke the key website")
	b.sees("This cannot be undone.")
	b.look("key-revoke")
	b.click("Revoke key")
	b.sees("Revoked")
	if answer := s.client(successor).do("GET", contactsPath, ""); answer.status != 401 {
		t.Errorf("the revoked key returns %s", answer)
	}
	b.fill("Search by name or prefix", "")
	b.wait("all keys", `document.querySelectorAll(".integrations-table tbody tr").length === 4`)
	b.look("keys")
}
