package e2e

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// script writes a file beside the data directory.
func (i *installation) script(path, source string) string {
	i.t.Helper()
	name := filepath.Join(filepath.Dir(i.data), filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		i.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
		i.t.Fatal(err)
	}
	return name
}

const ordersMigration = `migrate((app) => {
	app.save(new Collection({ name: "orders", type: "base", fields: [{ name: "number", type: "text" }] }))
})
`

// Hooks and migrations in JavaScript work as in PocketBase. An error harms only its own request, and the log says
// where it was thrown.
func TestScripts(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	i.script("pb_migrations/1790000000_orders.js", ordersMigration)
	i.script("pb_hooks/hello.pb.js", `routerAdd("GET", "/hello", (e) => e.json(200, { orders: $app.countRecords("orders") }))
`)
	i.script("pb_hooks/wrong.pb.js", `// the error
// is in line 5

routerAdd("GET", "/wrong", (e) => {
	throw new Error("not today")
})
routerAdd("GET", "/teapot", (e) => { throw new ApiError(418, "short and stout") })
cronAdd("wrong", "0 0 1 1 *", () => {
	nothing.here()
})
routerAdd("GET", "/guard", (e) => {
	const contacts = $app.findCollectionByNameOrId("contacts")
	contacts.removeIndex("idx_contacts_phone")
	$app.save(contacts)
})
routerAdd("GET", "/drop", (e) => { $app.delete($app.findCollectionByNameOrId("contacts")) })
`)
	s := i.serve()
	s.await("1790000000_orders.js") // applied as an upgrade is
	c := s.client("")
	for c.do(http.MethodGet, "/wrong", "").status == http.StatusServiceUnavailable { // until the upgrade has ended
		runtime.Gosched()
	}
	if got := c.expect(http.StatusOK, http.MethodGet, "/hello", "").json()["orders"]; got != 0.0 {
		t.Errorf("a route of a script answers %v", got)
	}
	s.await("wrong.pb.js:5: Error: not today")
	if got := c.expect(http.StatusTeapot, http.MethodGet, "/teapot", ""); !strings.Contains(string(got.body), "Short and stout") {
		t.Errorf("an error for the client is %s", got)
	}
	su := s.signIn()
	su.expect(http.StatusNoContent, http.MethodPost, "/api/crons/wrong", "")
	s.await("wrong.pb.js:9: ReferenceError: nothing is not defined")
	if got := c.expect(http.StatusBadRequest, http.MethodGet, "/guard", ""); !strings.Contains(string(got.body), "belongs to the program") {
		t.Errorf("removing an index of the program is %s", got)
	}
	c.expect(http.StatusBadRequest, http.MethodGet, "/drop", "")
	s.await("cannot be deleted")
	for _, name := range []string{"types.d.ts", "contactbase.d.ts"} {
		if _, err := os.Stat(filepath.Join(i.data, name)); err != nil {
			t.Error(err)
		}
	}
}

// Only what needs scripts loads them, and nothing is written without their folders.
func TestScriptsAreLoadedWhereNeeded(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	i.must("tenant", "create", "Acme")
	if files, err := fs.Glob(os.DirFS(i.data), "*.d.ts"); err != nil || len(files) > 0 {
		t.Errorf("without scripts there are types: %q, %v", files, err)
	}
	i.script("pb_hooks/broken.pb.js", "this is not JavaScript")
	i.script("contacts.csv", "name\nAda\n")
	for _, line := range []string{
		"serve --http 127.0.0.1:0", "contact import Acme " + filepath.Join(filepath.Dir(i.data), "contacts.csv"),
	} {
		if got := i.run(strings.Fields(line)...); got.code == 0 || !strings.Contains(got.stderr, "broken.pb.js") {
			t.Errorf("%s with a broken script: %+v", line, got)
		}
	}
	for _, line := range []string{"backup x.zip", "doctor", "tenant list", "serve --help", "--version", "config"} {
		if got := i.run(strings.Fields(line)...); got.code != 0 {
			t.Errorf("%s loads scripts: %+v", line, got)
		}
	}
}

// Folders and files that other users may change end the start.
func TestScriptsOfOthers(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	file := i.script("pb_hooks/lib/hello.js", "")
	migration := i.script("pb_migrations/1790000000_nothing.js", "migrate(() => {})")
	for path, mode := range map[string]fs.FileMode{
		filepath.Dir(filepath.Dir(file)): 0o770, file: 0o602, filepath.Dir(migration): 0o702, migration: 0o620,
	} {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		got := i.run("serve", "--http", "127.0.0.1:0")
		if got.code != 1 || !strings.Contains(got.stderr, path+", and with it all data: run chmod go-w "+path) {
			t.Errorf("%s with the mode %o: %+v", path, mode, got)
		}
		if err := os.Chmod(path, before.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(file, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if got := i.run("serve", "--http", "127.0.0.1:0"); got.code != 1 || !strings.Contains(got.stderr, "run chown 0 "+file) {
		t.Errorf("a file of another user: %+v", got)
	}
}

// The folders are beside the path of the data directory as it was given.
func TestScriptsBesideALink(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	link := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(i.data, link); err != nil {
		t.Skip(err)
	}
	i.script("pb_hooks/broken.pb.js", "this is not JavaScript")
	i.data = link
	if got := i.serve().client("").do(http.MethodGet, "/api/health", ""); got.status != http.StatusOK {
		t.Errorf("beside the link there is no script: %s", got)
	}
}

// The commands for migrations only know those in JavaScript.
func TestMigrateCommands(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	i.script("pb_migrations/1790000000_orders.js", ordersMigration)
	if got := i.run("migrate", "up"); got.code != 0 || !strings.Contains(got.stderr, "backup: ") || !strings.Contains(got.stderr, "1790000000_orders.js") {
		t.Errorf("applying a migration: %+v", got)
	}
	for _, line := range []string{"create add things", "down", "down 1", "history-sync"} {
		if got := i.run(append([]string{"migrate"}, strings.Fields(line)...)...); got.code == 0 {
			t.Errorf("migrate %s: %+v", line, got)
		}
	}
	for _, line := range []string{"create things", "collections"} {
		command := i.command(t.Context(), append([]string{"migrate", "--dir=" + i.data}, strings.Fields(line)...)...)
		command.Stdin = strings.NewReader("y\n")
		if got := finish(t, command); got.code != 0 {
			t.Errorf("migrate %s: %+v", line, got)
		}
	}
	written, err := filepath.Glob(filepath.Join(filepath.Dir(i.data), "pb_migrations", "*.js"))
	if err != nil || len(written) != 3 {
		t.Errorf("there are the migrations %q, %v", written, err)
	}
	// the shipped program without the folder is not older than the directory
	if err := os.RemoveAll(filepath.Join(filepath.Dir(i.data), "pb_migrations")); err != nil {
		t.Fatal(err)
	}
	i.must("tenant", "list")
	i.script("pb_migrations/1790000001_breaks.js", `migrate((app) => {
	const contacts = app.findCollectionByNameOrId("contacts")
	contacts.removeIndex("idx_contacts_phone")
	app.save(contacts)
})
`)
	if got := i.run("migrate", "up"); got.code == 0 || !strings.Contains(got.stderr, `it changes the collection "contacts"`) {
		t.Errorf("a migration that breaks the program: %+v", got)
	}
}

// Changes of collections in the dashboard become migrations if asked for, with and without hooks.
func TestAutomigrate(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	admin := i.serve("--automigrate").signIn()
	admin.expect(http.StatusOK, http.MethodPost, "/api/collections", `{"name":"orders","type":"base"}`)
	written, err := filepath.Glob(filepath.Join(filepath.Dir(i.data), "pb_migrations", "*_created_orders.js"))
	if err != nil || len(written) != 1 {
		t.Fatalf("there are the migrations %q, %v", written, err)
	}
	other := newInstallation(t)
	other.script("pb_migrations/"+filepath.Base(written[0]), readText(t, written[0]))
	if got := other.superuser().run("migrate", "up"); got.code != 0 {
		t.Fatalf("the migration: %+v", got)
	}
	other.serve().signIn().expect(http.StatusOK, http.MethodGet, "/api/collections/orders/records", "")
}
