package replica_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/replica"
)

func TestPlaceInTheDataFolder(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dataDir, link := filepath.Join(parent, "pb_data"), filepath.Join(parent, "link")
	if err := os.Mkdir(dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dataDir, link); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{dataDir, filepath.Join(dataDir, "replica"), filepath.Join(link, "not", "yet"), filepath.Join(dataDir, "..", "pb_data")} {
		if _, err := replica.Open(config("file://"+place), dataDir); err == nil || !strings.Contains(err.Error(), "is in the data folder") {
			t.Errorf("a replica in %s: %v", place, err)
		}
	}
	for _, place := range []string{parent, filepath.Join(parent, "pb_data-replica"), filepath.Join(parent, "..pb_data")} {
		open(t, config("file://"+place), dataDir)
	}
}
