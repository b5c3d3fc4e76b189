package script_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/extension"
	"contactbase/internal/script"
	"contactbase/internal/testkit"
)

// load loads the hooks with these sources by file.
func load(t *testing.T, app core.App, files map[string]string) error {
	t.Helper()
	folder := t.TempDir()
	for name, source := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := script.Config{Hooks: folder, Migrations: filepath.Join(folder, "none"), Pool: 2}
	return config.LoadHooks(extension.Record(app))
}

// A hook that fails harms only its own write, and its error names the file and the line, also in a function that
// stands elsewhere in the file.
func TestFailures(t *testing.T) {
	t.Parallel()
	b := testkit.NewBook(t)
	if err := load(t, b.App, map[string]string{"a.pb.js": `
const named = (e) => {
	e.record.nothing()
}

onRecordCreate((e) => {
	if (e.record.get("name") == "thrown") {
		throw new Error("a bug")
	}
	e.next()
}, "contacts")
onRecordUpdate(named, "contacts")
`, "b.pb.js": `onRecordCreate((e) => { if (e.record.get("name") == "text") throw "a text"; e.next() }, "contacts")
onRecordCreate((e) => {
	if (e.record.get("name") == "go") $app.findRecordById("contacts", "none")
	if (e.record.get("name") == "invalid") throw new BadRequestError("no", { name: new ValidationError("bad", "is bad") })
	e.next()
}, "contacts")
`}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"thrown": "a.pb.js:8: Error: a bug", "text": "b.pb.js: a text", "go": "b.pb.js:3: sql: no rows",
	} {
		if _, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": name})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": "invalid"})); err == nil || !strings.Contains(err.Error(), "name: is bad") {
		t.Errorf("an error for the client: %v", err)
	}
	c, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": "Ada"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := testkit.Update(b.App, b.Tenant, c.ID, b.Changes(map[string]any{"name": "Ada King"})); err == nil || !strings.Contains(err.Error(), "a.pb.js:3: TypeError") {
		t.Errorf("a function with a name: %v", err)
	}
}

// A hook for another collection does not count as one of contacts.
func TestTagsOfScripts(t *testing.T) {
	t.Parallel()
	b := testkit.NewBook(t)
	if err := load(t, b.App, map[string]string{
		"orders.pb.js": `onRecordCreate((e) => e.next(), "orders"); onRecordAfterCreateSuccess((e) => e.next(), "contacts")`,
	}); err != nil {
		t.Fatal(err)
	}
	contacts, err := b.App.FindCollectionByNameOrId("contacts")
	if err != nil {
		t.Fatal(err)
	}
	if places := extension.Places(b.App, contacts); len(places) > 0 {
		t.Errorf("hooks of contacts are in %q", places)
	}
	if err := load(t, b.App, map[string]string{"all.pb.js": `onModelValidate((e) => e.next())`}); err != nil {
		t.Fatal(err)
	}
	if places := extension.Places(b.App, contacts); len(places) != 1 || places[0] != "all.pb.js" {
		t.Errorf("hooks of contacts are in %q", places)
	}
}

// A hook that never ends is interrupted, because all other writes wait for it. The next write is not.
func TestEndlessHook(t *testing.T) {
	t.Parallel()
	b := testkit.NewBook(t)
	if err := load(t, b.App, map[string]string{
		"endless.pb.js": `onRecordCreate((e) => { while (e.record.get("name") == "endless") {}; e.next() }, "contacts")`,
		"outer.pb.js":   `onRecordCreate((e) => { try { e.next() } finally { e.record.set("company", "") } }, "contacts")`,
	}); err != nil {
		t.Fatal(err)
	}
	_, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": "endless"}))
	if err == nil || !strings.Contains(err.Error(), "endless.pb.js: was interrupted") {
		t.Errorf("an endless hook: %v", err)
	}
	for range 4 { // every runtime
		if _, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": "Ada"})); err != nil {
			t.Error(err)
		}
	}
}

// An error while a file is loaded names it.
func TestBrokenScript(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	if err := load(t, app, map[string]string{"broken.pb.js": "nothing.here()"}); err == nil || !strings.Contains(err.Error(), "broken.pb.js") {
		t.Errorf("a broken script: %v", err)
	}
}
