package move

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"contactbase/internal/lockfile"
)

const (
	workspacePrefix = ".contactbase.moving-" // backups leave it out
	lockName        = "lock"
)

// errSwept means that a new folder was taken for one of a process that was killed.
var errSwept = errors.New("another process removed the temporary archive folder: run the command again")

// workspace is a folder in the data directory, with the secrets of a tenant in plain text: only the owner can read it, and it goes with the move.
type workspace struct {
	folder string
	unlock func()
}

// newWorkspace makes a folder for the database of an archive, and removes what killed processes have left.
func newWorkspace(dataDir string) (*workspace, error) {
	if err := Sweep(dataDir); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(dataDir, workspacePrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the archive: %w", err)
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

// database is the path of the archive's database.
func (w *workspace) database() string { return filepath.Join(w.folder, "archive.db") }

func (w *workspace) remove() error {
	_ = os.RemoveAll(w.folder) // while it is locked, so that nobody else does; Windows keeps the lock until it is released
	w.unlock()
	return os.RemoveAll(w.folder)
}

// Sweep removes from a data directory what exports and imports that were killed have left. Those that run keep theirs.
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
			return fmt.Errorf("removing what an interrupted export or import has left: %w", err)
		}
	}
	return nil
}
