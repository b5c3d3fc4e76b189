package move_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"contactbase/internal/lockfile"
	"contactbase/internal/move"
)

// Files left by a killed export or import are deleted at the next start; those of a running one are not.
func TestSweep(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	made := func(name string) string {
		t.Helper()
		folder := filepath.Join(dataDir, ".contactbase.moving-"+name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"lock", "archive.db"} {
			if err := os.WriteFile(filepath.Join(folder, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	left, running := made("1"), made("2")
	unlock, err := lockfile.Own(filepath.Join(running, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := move.Sweep(dataDir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what is left of a killed one stays: %v", err)
	}
	if _, err := os.Stat(filepath.Join(running, "archive.db")); err != nil {
		t.Errorf("what runs loses its file: %v", err)
	}
	unlock()
	if err := move.Sweep(dataDir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dataDir); err != nil || len(entries) > 0 {
		t.Errorf("%v are left: %v", entries, err)
	}
}

// While a tenant moves, only the owner can read its database, and nothing of it remains.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	s.freeze(t)
	archive, target, seen := s.export(t), newTarget(t), 0
	before := dump(t, target)["the files"]
	err := importInto(t.Context(), t, target, archive, func(g *move.Target) {
		g.Progress = func(int, int) {
			files, err := filepath.Glob(filepath.Join(target.DataDir(), ".contactbase.moving-*", "*"))
			if err != nil || len(files) != 2 {
				t.Errorf("there are %v, %v", files, err)
			}
			for _, file := range append(files, filepath.Dir(files[0])) {
				info, err := os.Stat(file)
				if err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s is %v, %v", file, info.Mode(), err)
				}
			}
			seen++
		}
	})
	if after := dump(t, target)["the files"]; err != nil || seen == 0 || after != before {
		t.Errorf("there are %s, and before %s: %v", after, before, err)
	}
}
