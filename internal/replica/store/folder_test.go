package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"contactbase/internal/replica/store"
)

// RemoveUnfinished deletes the partial files of a killed process, and nothing else.
func TestRemoveUnfinished(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "replica")
	s := open(t, "file://"+folder)
	if err := store.RemoveUnfinished(s); err != nil {
		t.Errorf("without a directory: %v", err)
	}
	put(t, s, "1/data.db/a.ltx", []byte("content"))
	left := filepath.Join(folder, "1", "data.db", ".writing-123")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.RemoveUnfinished(s); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	get(t, s, "1/data.db/a.ltx", 0, 0)
	if err := store.RemoveUnfinished(open(t, bucket(t).URL("x"))); err != nil {
		t.Errorf("of a bucket: %v", err)
	}
}
