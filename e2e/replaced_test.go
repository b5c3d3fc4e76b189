//go:build unix

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server whose database file is removed ends, instead of writing to a deleted file.
func TestReplacedDatabase(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	s := i.serve()
	if err := os.Rename(filepath.Join(i.data, "data.db"), filepath.Join(i.data, "aside.db")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.ended:
	case <-time.After(timeout):
		t.Fatal("the server keeps running")
	}
	if code := s.command.ProcessState.ExitCode(); code != 1 || !strings.Contains(s.output.String(), "data.db was removed or replaced while it was open: ") {
		t.Errorf("the program exits with %d and prints %s", code, s.output)
	}
}

// A restore in the dashboard also replaces the database, and the process restarts.
func TestRestoreByRoute(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	i.must("tenant", "create", "Before")
	s := i.serve()
	admin := s.signIn()
	admin.expect(http.StatusNoContent, http.MethodPost, "/api/backups", `{"name":"before.zip"}`)
	i.must("tenant", "create", "After")
	admin.expect(http.StatusNoContent, http.MethodPost, "/api/backups/before.zip/restore", "")
	deadline := time.After(timeout)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		got, err := admin.try(http.MethodGet, "/api/collections/tenants/records", "")
		if err == nil && got.status == http.StatusOK && got.json()["totalItems"] == 1.0 {
			break
		}
		select {
		case <-again.C:
		case <-s.ended:
			t.Fatalf("the program ends (%v):\n%s", s.failure, s.output)
		case <-deadline:
			t.Fatalf("the backup is not restored: %v %v\n%s", got, err, s.output)
		}
	}
	s.stop()
}
