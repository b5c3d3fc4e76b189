package replica

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"contactbase/internal/loop"
	"contactbase/internal/replica/store"
)

// checkLocation refuses a store in the data directory: it would be lost with it, and every backup would contain it.
func checkLocation(opened store.Store, dataDir string) error {
	folder, local := store.Folder(opened)
	if !local {
		return nil
	}
	relative, err := filepath.Rel(resolvedPath(dataDir), resolvedPath(folder))
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return nil //nolint:nilerr // no relative path leads from one to the other
	}
	return fmt.Errorf("%s is in the data directory and would be lost with it: choose a directory on another disk", folder)
}

// resolvedPath returns an absolute path with its links resolved, as far as it exists.
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

// locationCheckInterval is how often a machine without a lease checks whether another one replicates to its location.
const locationCheckInterval = time.Minute

// watchLocation checks that, and updates the lock record, until ctx ends or another machine is there.
func (r *Replica) watchLocation(ctx context.Context) {
	for r.checkDisplaced(ctx) == nil {
		if r.lease == nil && r.written.recorded.Load() {
			_ = r.updateLock(ctx) // the next update includes this one
		}
		if !loop.Pause(ctx, locationCheckInterval) {
			return
		}
	}
}

// checkDisplaced returns an error, and keeps it in the status for good, if another machine without a lease replicates
// to the same location: a restore no longer returns what this machine writes.
func (r *Replica) checkDisplaced(ctx context.Context) error {
	if r.lease != nil {
		return nil // the lease shows it
	}
	found, _, err := r.readLock(ctx)
	if err != nil || found.Generation <= r.written.generation.Load() {
		return nil //nolint:nilerr // an unreachable store says nothing about other machines
	}
	p := &r.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.displaced == nil {
		p.displaced = fmt.Errorf("another machine, %s, replicates to the same location, and a restore would "+
			"return its data: stop one of the two, or replicate to another location", found.Owner)
		r.replication.app.Logger().Error("the replica no longer has what this machine writes", "error", p.displaced)
	}
	return p.displaced
}
