//go:build unix

package backup

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Opening a data directory that others could read makes it private, and changes only its own files.
func TestMakePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, shared := filepath.Join(dir, "pb_data"), filepath.Join(dir, "shared")
	for _, folder := range []string{data, filepath.Join(data, "storage"), filepath.Join(data, "backups"), filepath.Join(data, "own"), shared} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(shared, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{
		"pb_data": 0o700, "pb_data/storage": 0o700, "pb_data/backups": 0o700, "pb_data/own": 0o755, "shared": 0o777,
		"pb_data/data.db": 0o600, "pb_data/data.db-wal": 0o600, "pb_data/auxiliary.db": 0o600, "pb_data/.contactbase.lock": 0o600,
		"pb_data/.contactbase-engine.lock": 0o600,
		"pb_data/backups/a.zip":            0o600, "pb_data/notes.txt": 0o644, "shared/data.db": 0o600, "elsewhere.db": 0o644,
	}
	for name, mode := range want {
		path := filepath.Join(dir, name)
		if filepath.Ext(name) == "" {
			continue
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode|0o044); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere.db"), filepath.Join(data, "link.db")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{data, shared} {
		if err := makePrivate(folder); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s is %o, not %o", name, info.Mode().Perm(), mode)
		}
	}
	if err := makePrivate(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a folder that is not there becomes private")
	}
}
