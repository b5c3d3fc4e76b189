package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"contactbase/internal/replica/store"
)

// RemoveUnfinished deletes the partial files of a killed process, and nothing else. Another process may still
// write a young one.
func TestRemoveUnfinished(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "replica")
	s := open(t, "file://"+folder)
	if err := store.RemoveUnfinished(s); err != nil {
		t.Errorf("without a directory: %v", err)
	}
	put(t, s, "1/data.db/a.ltx", []byte("content"))
	left := filepath.Join(folder, "1", "data.db", ".writing-123")
	live := filepath.Join(folder, "1", "data.db", ".writing-456")
	for _, path := range []string{left, live} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	if err := store.RemoveUnfinished(s); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if _, err := os.Stat(live); err != nil {
		t.Errorf("the file of another process: %v", err)
	}
	get(t, s, "1/data.db/a.ltx", 0, 0)
	if err := store.RemoveUnfinished(open(t, bucket(t).URL("x"))); err != nil {
		t.Errorf("of a bucket: %v", err)
	}
}
