package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The data directory can have any name: characters with a meaning in a URI do not lead beside it.
func TestDataDirectoryOfAnyName(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no file can have this name")
	}
	parent := t.TempDir()
	named := func(name string) *installation { return &installation{t: t, data: filepath.Join(parent, name)} }
	i, restored := named("data 100%41? #1 客户"), named("restored?#%20")
	i.must("tenant", "create", "Acme")
	i.serve().stop()
	backup := str(t, i.one("backup"), "path")
	restored.must("restore", backup)
	for _, found := range []*installation{i, restored} {
		found.sound()
		if got := found.many("tenant", "list"); len(got) != 1 {
			t.Errorf("%s has %v", found.data, got)
		}
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 2 {
		t.Errorf("there are %v (%v)", entries, err)
	}
}
