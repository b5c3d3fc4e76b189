package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"contactbase/internal/lockfile"
	"contactbase/internal/replica/store"
)

// checkLocation refuses a store that is lost with the data folder, and that each backup of it would hold.
func checkLocation(found store.Store, dataDir string) error {
	folder, local := store.Folder(found)
	if !local {
		return nil
	}
	inside, err := filepath.Rel(resolvedPath(dataDir), resolvedPath(folder))
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return nil //nolint:nilerr // there is no way from one to the other
	}
	return fmt.Errorf("%s is in the data directory and would be lost with it: choose a directory on another disk", folder)
}

// resolvedPath returns a path without links, as far as it is there.
func resolvedPath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolvedPath(parent), filepath.Base(path))
	}
	return path
}

// locationCheckInterval is how often a machine without a lease looks whether another one has come to its place in the store.
const locationCheckInterval = time.Minute

// watchLocation looks, and records what the store has, until ctx ends or another machine has come.
func (r *Replica) watchLocation(ctx context.Context) {
	for r.checkOwner(ctx) == nil {
		if r.lease == nil && r.positionRecorded.Load() {
			_ = r.updateLock(ctx) // the next one says more
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(locationCheckInterval):
		}
	}
}

// checkOwner returns, and notes for good, that another machine keeps its replica in the same place: what this one sends is not what
// is restored any more.
func (r *Replica) checkOwner(ctx context.Context) error {
	if r.lease != nil {
		return nil // which tells
	}
	found, _, err := r.readLock(ctx)
	if err != nil || found.Generation <= r.generation {
		return nil //nolint:nilerr // a store that is away says nothing of who else is there
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.displaced == nil {
		r.displaced = fmt.Errorf("another machine, %s, replicates to the same location, and a restore would return its data: stop one of the two, "+
			"or replicate to another location", found.Owner)
		r.runner.app.Logger().Error("the replica is of no use any more", "error", r.displaced)
	}
	return r.displaced
}

// serverLockName is the file whose lock says which process replicates the data folder.
const serverLockName = "server.lock"

// lockDataDir has this process be the only one that replicates the data folder: two would send parts of one log to the same files.
func (r *Replica) lockDataDir() error {
	if err := os.MkdirAll(r.path(""), 0o700); err != nil {
		return err
	}
	release, err := lockfile.Own(r.path(serverLockName))
	if errors.Is(err, lockfile.ErrHeld) {
		return fmt.Errorf("another server keeps a replica of the data folder %s: stop it first", r.dataDir)
	}
	if err != nil {
		return err
	}
	r.runner.unlockDataDir = release
	return nil
}
