package e2e

import (
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
	command := exec.Command("go", "build", "-mod=mod", "-modfile="+module, "-o", path, ".")
	command.Dir = "../examples/extended"
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// A program of others extends the server: its rule holds in the API, and its route answers.
func TestExtendedExample(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.program = []string{buildExtended(t)}
	i.superuser()
	i.must("tenant", "create", "Acme")
	key := str(t, i.one("key", "create", "Acme"), "key")
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
	// the version is the program's, and there is no page at /
	if got := i.must("--version"); !strings.Contains(got, "1.0.0-extended") {
		t.Errorf("the version is %q", got)
	}
}
