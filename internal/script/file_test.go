package script_test

import (
	"net/http"
	"net/http/httptest"
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
	if err == nil || !strings.Contains(err.Error(), "endless.pb.js:1: was interrupted") {
		t.Errorf("an endless hook: %v", err)
	}
	for range 4 { // every runtime
		if _, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": "Ada"})); err != nil {
			t.Error(err)
		}
	}
}

// A transaction that never ends is interrupted, whether a route, a job or a hook begins it.
func TestEndlessTransactions(t *testing.T) {
	t.Parallel()
	const endless = `runInTransaction((tx) => { tx.save(new Record(tx.findCollectionByNameOrId("marks"))); while (true) {} })`
	for name, source := range map[string]string{
		"route":            `routerAdd("GET", "/run", (e) => $app.` + endless + `)`,
		"route's request":  `routerAdd("GET", "/run", (e) => e.app.` + endless + `)`,
		"job":              `cronAdd("run", "0 0 1 1 *", () => $app.` + endless + `)`,
		"hook after write": `onRecordAfterCreateSuccess(() => $app.` + endless + `, "contacts")`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := testkit.NewBook(t)
			if err := b.App.Save(core.NewBaseCollection("marks")); err != nil {
				t.Fatal(err)
			}
			if err := load(t, b.App, map[string]string{"endless.pb.js": source}); err != nil {
				t.Fatal(err)
			}
			base := testkit.Serve(t, b.App)
			for range 2 {
				switch name {
				case "job":
					for _, job := range b.App.Cron().Jobs() {
						if job.Id() == "run" {
							job.Run()
						}
					}
				case "hook after write":
					b.Add(map[string]any{"name": "Ada"})
				default:
					response, err := http.Get(base + "/run") //nolint:noctx // a test
					if err != nil {
						t.Fatal(err)
					}
					if response.Body.Close(); response.StatusCode < 400 {
						t.Errorf("the route answers %d", response.StatusCode)
					}
				}
			}
			if n := testkit.Count(t, b.App, "SELECT count(*) FROM marks", nil); n != 0 {
				t.Errorf("the transactions have left %d records", n)
			}
		})
	}
}

// Hooks that call each other without end come to one, and harm nobody else.
func TestEndlessRecursion(t *testing.T) {
	t.Parallel()
	b := testkit.NewBook(t)
	if err := load(t, b.App, map[string]string{"deep.pb.js": `onRecordAfterUpdateSuccess((e) => {
	const [word, left] = e.record.getString("company").split(" ")
	if (left == "0") return e.next()
	const again = $app.findRecordById("contacts", e.record.id)
	again.set("company", word + " " + (left - 1))
	$app.save(again)
	e.next()
}, "contacts")`}); err != nil {
		t.Fatal(err)
	}
	for from, isEndless := range map[string]bool{"fifty 50": false, "endless -1": true} {
		c := b.Add(map[string]any{"name": "Ada"})
		if _, _, err := testkit.Update(b.App, b.Tenant, c.ID, b.Changes(map[string]any{"company": from})); err != nil {
			t.Errorf("%s: %v", from, err)
		}
		events := testkit.Count(t, b.App, "SELECT count(*) FROM events WHERE type = 'contact.updated' AND contact = '"+c.ID+"'", nil)
		if !isEndless && events != 51 || isEndless && events < 60 {
			t.Errorf("%s: %d updates", from, events)
		}
	}
}

// A hook that waits for another server cannot be interrupted, and is named while it holds the writer lock, whether
// the API or the dashboard writes.
func TestHangingHook(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"onRecordCreate", "onRecordCreateExecute", "onModelCreate"} {
		for door, create := range map[string]func(b *testkit.Book) error{
			"API": func(b *testkit.Book) error {
				_, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": "Ada"}))
				return err
			},
			"records": func(b *testkit.Book) error {
				contacts, err := b.App.FindCollectionByNameOrId("contacts")
				if err != nil {
					return err
				}
				record := core.NewRecord(contacts)
				record.Load(map[string]any{"tenant": b.Tenant, "name": "Ada"})
				return b.App.Save(record)
			},
		} {
			t.Run(event+" "+door, func(t *testing.T) {
				t.Parallel()
				b := testkit.NewBook(t)
				answer := make(chan struct{})
				hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-answer }))
				defer hanging.Close()
				if err := load(t, b.App, map[string]string{
					"hanging.pb.js": event + `((e) => { $http.send({ url: "` + hanging.URL + `" }); e.next() }, "contacts")`,
				}); err != nil {
					t.Fatal(err)
				}
				done := make(chan error)
				go func() { done <- create(&b) }()
				testkit.Eventually(t, "the hook is named", func() bool {
					err := extension.Working(b.App)
					return err != nil && strings.Contains(err.Error(), "the extension hanging.pb.js has held the writer lock")
				})
				close(answer)
				if err := <-done; err != nil {
					t.Log("interrupted:", err)
				}
				if err := extension.Working(b.App); err != nil {
					t.Errorf("when it has ended: %v", err)
				}
			})
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
