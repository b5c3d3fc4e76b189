package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory that lacks what the replica has is not served, and stays as it is, so that the replica can be restored
// there. What the replica has survives each attempt.
func TestReplicaRefusesDirectory(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	parent := t.TempDir()
	location := "CONTACTBASE_REPLICA=file://" + t.TempDir()
	backup := filepath.Join(i.data, "backups", "before.zip")
	i.must("backup", "before.zip")
	older := filepath.Join(parent, "older")
	(&installation{t: t, data: older}).must("restore", backup)

	i.env = []string{location}
	s := i.serve()
	i.must("tenant", "create", "Beta")
	s.stop() // which sends the rest
	for _, mode := range []string{"async", "sync"} {
		for name, folder := range map[string]string{"an empty directory": filepath.Join(parent, "empty"), "a backup": older} {
			got := (&installation{t: t, data: folder, env: i.env}).run("serve", "--http", "127.0.0.1:0", "--replicaMode", mode)
			if got.code != 1 || !strings.Contains(got.stderr, "contactbase replica restore") || !oneLine(got.stderr) {
				t.Errorf("%s: serve exits with %d: %s", name, got.code, got.stderr)
			}
		}
	}
	empty := filepath.Join(parent, "empty")
	if entries, err := os.ReadDir(empty); len(entries) > 0 {
		t.Errorf("the empty directory has %v (%v)", entries, err)
	}
	restored := &installation{t: t, data: empty, env: i.env}
	i.must("replica", "restore", empty)
	restored.serve().stop()
	if got := restored.many("tenant", "list"); len(got) != 2 {
		t.Errorf("the restored directory has %v", got)
	}
	i.refuses("has replaced this one", "serve", "--http", "127.0.0.1:0")
}
