package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/superfly/ltx"
)

// lockName is the object in the store that names the holder.
const lockName = "lock.json"

// lockRecord is the content of lock.json: the current generation, its holder, and what was acknowledged last.
type lockRecord struct {
	Generation int64 `json:"generation"`
	// the last transaction of the generation that the store had at the last update; 0 until one may be acknowledged
	Position  uint64   `json:"position"`
	From      Position `json:"from"`                // the position in the store with which the generation began
	Unshipped uint64   `json:"unshipped,omitempty"` // acknowledged commits that the store lacked when the holder stopped
	Owner     string   `json:"owner"`               // host name of the holder, for people
	Folder    string   `json:"folder"`              // identity of the holder's data directory
	TTL       float64  `json:"ttl,omitempty"`       // of the lease, in seconds; 0 without one
	// for people: machines only check whether it changes, because clocks differ
	Renewed time.Time `json:"renewed"`
	// whether the holder has stopped, so that no standby waits for its lease
	Released bool `json:"released,omitempty"`
}

// acknowledged returns the last position that the store is known to have completely.
func (l lockRecord) acknowledged() Position {
	if l.Position == 0 {
		return l.From
	}
	return Position{l.Generation, ltx.TXID(l.Position)}
}

// written is the generation that this process writes.
type written struct {
	generation atomic.Int64  // 0 before there is one
	folder     string        // identity of the data directory
	position   atomic.Uint64 // the last transaction that the store is known to have
	recorded   atomic.Bool   // whether the lock record has a position in the generation
}

func (w *written) set(own identity) {
	w.folder = own.Folder
	w.generation.Store(own.Generation)
}

// readLock reads the lock record and its tag. Without lock.json, the record has generation 0 and the tag is "".
func (r *Replica) readLock(ctx context.Context) (found lockRecord, tag string, err error) {
	content, tag, err := r.store.Read(ctx, lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return lockRecord{}, "", nil
	}
	if err != nil {
		return lockRecord{}, "", err
	}
	if err := json.Unmarshal(content, &found); err != nil {
		return lockRecord{}, "", fmt.Errorf("%s in the store is not valid: %w", lockName, err)
	}
	return found, tag, nil
}

// writeLock replaces the lock record that has the tag.
func (r *Replica) writeLock(ctx context.Context, next lockRecord, tag string) (newTag string, err error) {
	next.Renewed = time.Now().UTC()
	content, err := json.Marshal(next)
	if err != nil {
		return "", err
	}
	return r.store.Swap(ctx, lockName, content, tag)
}

// updateLock writes the replicated position to the lock record. No commit of a generation is acknowledged before the
// record has a position in it. Later, the store may be ahead of the record: restores consider both.
func (r *Replica) updateLock(ctx context.Context) error {
	if r.lease != nil {
		return r.lease.renew(ctx)
	}
	return r.rewriteLock(ctx, 0)
}

// rewriteLock writes the replicated position without a lease, and how many acknowledged commits the store lacks.
func (r *Replica) rewriteLock(ctx context.Context, unshipped uint64) error {
	found, tag, err := r.readLock(ctx)
	if err != nil {
		return err
	}
	if found.Generation != r.written.generation.Load() || found.Folder != r.written.folder {
		return fmt.Errorf("another machine, %s, replicates to the same location", found.Owner)
	}
	found.Position, found.Unshipped = max(found.Position, r.written.position.Load()), unshipped
	_, err = r.writeLock(ctx, found, tag)
	return err
}

// recordUpload notes that the store has everything up to a transaction. The first time, it waits until the
// lock record says so.
func (r *Replica) recordUpload(ctx context.Context, last ltx.TXID) error {
	r.written.position.Store(max(r.written.position.Load(), uint64(last)))
	if r.written.recorded.Load() {
		return nil
	}
	if err := r.updateLock(ctx); err != nil {
		return fmt.Errorf("recording the first upload of generation %d: %w", r.written.generation.Load(), err)
	}
	r.written.recorded.Store(true)
	return nil
}

// releaseLock writes to the lock record that this machine has stopped, and how many commits the store lacks. In Sync
// mode none of those was acknowledged.
func (r *Replica) releaseLock(ctx context.Context, missing uint64) error {
	if r.IsSync() {
		missing = 0
	}
	switch {
	case r.lease != nil:
		return r.lease.release(ctx, missing)
	case r.written.recorded.Load() || missing > 0 && r.written.generation.Load() > 0:
		return r.rewriteLock(ctx, missing)
	default:
		return nil
	}
}
