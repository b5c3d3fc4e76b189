package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"contactbase/internal/loop"
	"contactbase/internal/replica/shipping"
	"contactbase/internal/replica/store"
)

// pollsPerLease is how often a standby reads the lock record during a lease.
const pollsPerLease = 8

// RunStandby waits until this machine may serve, and then brings its data directory to the last acknowledged
// position. The data directory must not be open until then. RunStandby reports what it waits for. The error is that
// of ctx, or why this data directory cannot serve.
func (r *Replica) RunStandby(ctx context.Context, report func(format string, args ...any)) error {
	unlock, err := r.lockDataDir()
	if err != nil {
		return err
	}
	defer unlock() // Start locks it again
	own, err := r.readIdentity("")
	if err != nil {
		return err
	}
	if own.Generation != 0 || !r.hasData() { // other data can still be served without a lease if this fails
		if err := r.save(standbyName, own); err != nil {
			return err
		}
	}
	r.progress.enter(Following, nil)
	s := &standby{replica: r, own: own, report: report}
	defer s.stop()
	found, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	if err := s.takeOver(ctx, found); err != nil {
		r.progress.enter(Fenced, err)
		return errors.Join(err, r.lease.release(context.WithoutCancel(ctx), 0))
	}
	r.progress.enter(Starting, nil)
	return os.RemoveAll(r.path(standbyName))
}

// standby is what a standby knows. Only RunStandby's goroutine uses it.
type standby struct {
	replica    *Replica
	own        identity
	report     func(format string, args ...any)
	lastReport string
	tag        string        // of the last lock record that was read
	since      time.Duration // when it was read first, on the clock
	follower   *follower     // of the current generation; nil before there is one
	restore    bool          // whether the data directory lacks something that the store has
}

// acquire waits for the lease, and returns the previous lock record.
func (s *standby) acquire(ctx context.Context) (lockRecord, error) {
	r := s.replica
	for {
		found, tag, err := r.readLock(ctx)
		switch {
		case ctx.Err() != nil:
			return lockRecord{}, ctx.Err()
		case err != nil:
			r.progress.setError(err)
			s.reportChange("cannot read the replica, retrying: %s", err)
		case found.Generation > 0 && s.own.Generation == 0 && r.hasData():
			return lockRecord{}, fmt.Errorf("the data directory %s contains data that does not come from the "+
				"replica, which belongs to %s: with --lease, serve an empty directory, "+
				"which gets the replica's data, or replicate to another location",
				r.dataDir, found.Owner)
		case s.isFree(found, tag):
			err := s.take(ctx, found, tag)
			if err == nil {
				return found, nil
			}
			if !errors.Is(err, store.ErrChanged) {
				r.progress.setError(err)
				s.reportChange("cannot serve yet, retrying: %s", err)
			}
		default:
			err := s.follow(found.Generation)
			r.progress.setError(err)
			if err != nil {
				s.reportChange("standing by for %s, but cannot follow its replica: %s", found.Owner, err)
			} else {
				s.reportChange("standing by for %s", found.Owner)
			}
		}
		loop.Pause(ctx, min(r.config.Lease/pollsPerLease, time.Second))
	}
}

// isFree reports whether no machine serves. An unresponsive holder is given its whole lease, on this machine's clock,
// from when this machine first read its last lock record.
func (s *standby) isFree(found lockRecord, tag string) bool {
	if tag != s.tag || s.since == 0 {
		s.tag, s.since = tag, clock()
	}
	if found.TTL == 0 && found.Folder != s.own.Folder && tag != "" {
		return found.Released // a holder without a lease is never replaced
	}
	ttl := max(s.replica.config.Lease, time.Duration(found.TTL*float64(time.Second)))
	return tag == "" || found.Released || clock()-s.since >= ttl
}

// origin returns the position in the store that the next generation begins with, and sets s.restore unless the data
// directory has everything that the store has. The error is a lossError if the store lacks acknowledged writes.
func (s *standby) origin(ctx context.Context, found lockRecord) (Position, error) {
	r := s.replica
	ctx, cancel := context.WithTimeout(ctx, r.config.Lease) // after that, the lock record is read again
	defer cancel()
	from := s.retryingStore()
	s.restore = false
	stored, err := r.storedPosition(ctx, from, found)
	if err != nil || found.Generation == 0 && stored.Generation == 0 {
		return Position{}, err
	}
	if s.own.wrote(found, stored) {
		local, err := r.localPosition(s.own)
		if err != nil || !local.before(stored) {
			return stored, err
		}
		s.reportChange("the data directory ends at %s and the replica at %s: restoring the replica", local, stored)
	}
	s.restore = true
	return r.restorePosition(ctx, from, found)
}

// retryingStore returns the store with reads that are retried: one that fails says nothing about what the store has.
func (s *standby) retryingStore() store.Store {
	return store.Retrying(s.replica.store, func(err error) {
		s.replica.progress.setError(err)
		s.reportChange("cannot read the replica, retrying: %s", err)
	})
}

// take makes this machine the holder, unless it could not serve everything that was acknowledged. Then no machine
// serves until the store has the rest again, the machine that has it serves again, or an operator accepts the loss.
func (s *standby) take(ctx context.Context, found lockRecord, tag string) error {
	r := s.replica
	from, err := s.origin(ctx, found)
	if err != nil {
		return err
	}
	if s.restore && from.Transaction == 0 {
		return fmt.Errorf("the replica of machine %s contains nothing that can be restored: start that machine", found.Owner)
	}
	generation, err := r.nextGeneration(ctx, s.own, found)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.Lease/4)
	defer cancel()
	next := lockRecord{
		Generation: generation, From: from, Owner: r.host, Folder: s.own.Folder, TTL: r.config.Lease.Seconds(),
	}
	if !s.restore {
		next.Unshipped = found.Unshipped // the data directory has them, and still has to upload them
	}
	sent := clock()
	newTag, err := r.writeLock(ctx, next, tag)
	if err != nil {
		return err
	}
	r.lease = newLease(r, next, newTag, sent)
	return nil
}

// takeOver brings the data directory to the last position of the previous holder. It fails once the lease is lost.
func (s *standby) takeOver(ctx context.Context, previous lockRecord) error {
	r, began := s.replica, time.Now()
	if s.restore {
		r.progress.enter(CatchingUp, nil)
		s.reportChange("taking over from %s", previous.Owner)
		ctx, cancel := r.lease.whileHeld(ctx)
		defer cancel()
		if err := s.catchUp(ctx, previous); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		s.reportChange("took over in %s", time.Since(began).Round(100*time.Millisecond))
	}
	if !r.lease.held() {
		return ErrFenced
	}
	return r.beginGeneration(s.own, r.lease.record.Generation)
}

// reportChange reports a message that is not the same as the last one.
func (s *standby) reportChange(format string, args ...any) {
	if message := fmt.Sprintf(format, args...); message != s.lastReport {
		s.lastReport = message
		s.report("%s", message)
	}
}

// follow keeps copies of the databases close behind a generation, beside those in the data directory.
func (s *standby) follow(generation int64) (err error) {
	if s.follower != nil && s.follower.generation == generation {
		return nil
	}
	s.stop()
	s.follower, err = newFollower(s.replica, generation)
	return err
}

func (s *standby) stop() {
	if s.follower != nil {
		s.follower.stop()
		s.follower = nil
	}
}

// catchUp replaces the databases by those of the previous holder. The replaced ones are kept. Reads of the store are
// retried until they succeed or the lease is lost.
func (s *standby) catchUp(ctx context.Context, previous lockRecord) error {
	r := s.replica
	from := s.retryingStore()
	at, err := r.restorePosition(ctx, from, previous) // the holder may have uploaded more until it lost the lease
	if err != nil {
		return err
	}
	if from := r.lease.record.From; at.before(from) { // the store had it when this machine took the lease
		return &lossError{where: theReplica, found: at, acknowledged: from}
	}
	if err := s.follow(at.Generation); err != nil {
		return err
	}
	s.follower.stop()
	s.follower.from = from
	if err := s.follower.finish(ctx, dataFile, at.Transaction); err != nil {
		return fmt.Errorf("restoring %s to %s: %w", dataFile, at, err)
	}
	logs, err := shipping.NewFiles(from, at.Generation, auxiliaryFile).Extent(ctx)
	if err != nil {
		return err
	}
	if err := s.follower.finish(ctx, auxiliaryFile, logs.Restorable); err != nil {
		s.follower.discard(auxiliaryFile) // the request log starts empty
	}
	s.stop()
	s.own.Generation = unusable
	if err := r.save(identityName, s.own); err != nil {
		return err
	}
	if err := r.moveAside(); err != nil {
		return fmt.Errorf("moving the databases aside: %w", err)
	}
	for _, file := range []string{auxiliaryFile, dataFile} {
		if err := os.Rename(r.path(filepath.Join(followingName, file)), filepath.Join(r.dataDir, file)); err != nil &&
			file == dataFile {
			return err
		}
	}
	return os.RemoveAll(r.path(followingName))
}

// asidePrefix starts the names of the directories with replaced databases.
const asidePrefix = ".contactbase_replaced-"

// moveAside moves the databases in the data directory to a directory of their own, and deletes those that
// were moved earlier.
func (r *Replica) moveAside() error {
	entries, err := os.ReadDir(r.dataDir)
	if err != nil {
		return err
	}
	aside := filepath.Join(r.dataDir, asidePrefix+time.Now().UTC().Format("20060102T150405.000"))
	moved := false
	for _, entry := range entries {
		base, _, _ := strings.Cut(entry.Name(), "-")
		if base != dataFile && base != auxiliaryFile {
			continue
		}
		if err := os.MkdirAll(aside, 0o700); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(r.dataDir, entry.Name()), filepath.Join(aside, entry.Name())); err != nil {
			return err
		}
		moved = true
	}
	for _, entry := range entries {
		if moved && strings.HasPrefix(entry.Name(), asidePrefix) {
			if err := os.RemoveAll(filepath.Join(r.dataDir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
