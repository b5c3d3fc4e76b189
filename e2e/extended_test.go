package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// buildExtended compiles examples/extended, a module of its own that uses the sources of this one.
func buildExtended(t *testing.T) string {
	t.Helper()
	if err := lookAtSources(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path, module := filepath.Join(folder, "extended"), filepath.Join(folder, "go.mod")
	for from, to := range map[string]string{"../examples/extended/go.mod": module, "../go.sum": filepath.Join(folder, "go.sum")} {
		if err := os.WriteFile(to, []byte(readText(t, from)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Go adds the modules that this one requires to the copy
	overlay := filepath.Join(folder, "overlay.json")
	for name, text := range map[string]string{"migration.go": ownMigration, "overlay.json": overlaid(t, folder)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "build", "-mod=mod", "-modfile="+module, "-overlay="+overlay, "-o", path, ".")
	command.Dir = "../examples/extended"
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// ownMigration is a migration in Go of the extension, as PocketBase names them.
const ownMigration = `package main

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/migrations"
)

func init() {
	migrations.Register(func(tx core.App) error { return tx.Save(core.NewBaseCollection("invoices")) }, nil, "1895000000_invoices.go")
}
`

// overlaid returns the overlay that adds the migration in the folder to the example.
func overlaid(t *testing.T, folder string) string {
	t.Helper()
	example, err := filepath.Abs("../examples/extended/migration.go")
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{example: filepath.Join(folder, "migration.go")}
	encoded, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// A program of others extends the server: its rule holds in the API, its route answers, and its event is sent.
func TestExtendedExample(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.program = []string{buildExtended(t)}
	i.superuser()
	tenant := str(t, i.one("tenant", "create", "Acme"), "id")
	key := str(t, i.one("key", "create", "Acme"), "key")
	r := newReceiver(t)
	r.set(str(t, i.one("webhook", "create", "Acme", r.URL, "--event", "order.paid"), "secret"), nil)
	guide := readText(t, "../docs/extending.md")
	for _, found := range extensionSample.FindAllStringSubmatch(guide, -1) {
		if strings.HasPrefix(found[1], "pb_migrations/") {
			i.script(found[1], found[2]) // the collection
		}
	}
	if got := i.run("migrate", "up"); got.code != 0 {
		t.Fatalf("the migration: %s", got.stderr)
	}
	for _, found := range goSample.FindAllStringSubmatch(guide, -1) {
		if !strings.Contains(readText(t, "../examples/extended/"+found[1]), "\n"+found[2]) {
			t.Errorf("the example %s is not as the guide prints it", found[1])
		}
	}
	s := i.serve()
	c := s.client(key)
	refused := c.expect(http.StatusBadRequest, http.MethodPost, contactsPath, `{"name":"Ada","email":"ada@mailinator.com"}`)
	if got := string(refused.body); refused.code() != "validation_failed" || !strings.Contains(got, `"email"`) {
		t.Errorf("the rule refuses an address with %s", got)
	}
	c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada","email":"ada@example.com"}`)
	c.expect(http.StatusUnauthorized, http.MethodGet, "/api/extended/contacts", "")
	answer := s.signIn().expect(http.StatusOK, http.MethodGet, "/api/extended/contacts", "")
	if got := answer.json()["count"]; got != 1.0 {
		t.Errorf("the route counts %v contacts", got)
	}
	order := s.signIn().expect(http.StatusOK, http.MethodPost, "/api/collections/orders/records", `{"tenant":"`+tenant+`","total":49.9}`)
	orderIsSent(t, r, order)
	// the version is the program's, and there is no page at /
	if got := i.must("--version"); !strings.Contains(got, "1.0.0-extended") {
		t.Errorf("the version is %q", got)
	}
	s.stop()
	// without the extension, the program continues with the directory and its backups
	i.program = nil
	i.must("backup", "made.zip")
	newInstallation(t).must("restore", filepath.Join(i.data, "backups", "made.zip"))
	i.serve().signIn().expect(http.StatusOK, http.MethodGet, "/api/collections/invoices/records", "")
}
