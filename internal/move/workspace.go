package move

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"contactbase/internal/disk"
	"contactbase/internal/lockfile"
)

const (
	workspacePrefix = ".contactbase.moving-" // backups leave it out
	lockName        = "lock"
)

// errSwept means that another process took a new directory for one that a killed process left.
var errSwept = errors.New("another process removed the temporary archive directory: run the command again")

// workspace is a directory in the data directory with the tenant's secrets in plain text. Only the owner can read it,
// and it is deleted after the move.
type workspace struct {
	folder string
	unlock func()
}

// newWorkspace creates a directory for an archive's database, and removes those left by killed processes.
func newWorkspace(dataDir string) (*workspace, error) {
	if err := Sweep(dataDir); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(dataDir, workspacePrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the archive: %w", err)
	}
	unlock, err := lockfile.Own(filepath.Join(folder, lockName))
	if err != nil {
		return nil, errors.Join(errSwept, err, os.RemoveAll(folder))
	}
	w := &workspace{folder, unlock}
	if _, err := os.Stat(filepath.Join(folder, lockName)); err != nil {
		return nil, errors.Join(errSwept, err, w.remove())
	}
	return w, nil
}

// database returns the path of the archive's database.
func (w *workspace) database() string { return filepath.Join(w.folder, "archive.db") }

func (w *workspace) remove() error {
	// while it is locked, so that no other process does; Windows keeps the lock until it is released
	_ = os.RemoveAll(w.folder)
	w.unlock()
	return os.RemoveAll(w.folder)
}

// Sweep removes the directories of killed exports and imports, and keeps those of running ones.
func Sweep(dataDir string) error {
	entries, err := os.ReadDir(dataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), workspacePrefix) {
			continue
		}
		folder := filepath.Join(dataDir, entry.Name())
		unlock, err := lockfile.Own(filepath.Join(folder, lockName))
		if errors.Is(err, lockfile.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("locking %s: %w", folder, err)
		}
		if err := (&workspace{folder, unlock}).remove(); err != nil {
			return fmt.Errorf("removing files of an interrupted export or import: %w", err)
		}
	}
	return nil
}

// Room returns how many bytes the database of an archive may take in the data directory: half of the free space above
// --minFreeDisk, minFree bytes. An import writes its rows beside it, and an export the archive.
func Room(dataDir string, minFree uint64) (int64, error) {
	space, err := disk.Of(dataDir)
	if err != nil {
		return 0, fmt.Errorf("reading the free disk space of the data directory: %w", err)
	}
	if space.Free <= minFree {
		return 0, fmt.Errorf("only %d MiB are free on the disk of the data directory, "+
			"below --minFreeDisk (%d MiB): free some space", space.Free>>20, minFree>>20)
	}
	return int64(min((space.Free-minFree)/2, math.MaxInt64)), nil
}
