package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"contactbase/internal/replica/store"
)

// pollsPerLease is how often a standby looks at the lease while that lasts.
const pollsPerLease = 8

// RunStandby waits until this machine may serve, and then has its data folder hold what the replica does. Until then the folder
// must not be open. tell is told what it waits for. The error is that of ctx, or why this folder cannot serve.
func (r *Replica) RunStandby(ctx context.Context, report func(format string, args ...any)) error {
	if err := r.checkPath(); err != nil {
		return err
	}
	if err := r.lockDataDir(); err != nil {
		return err
	}
	defer r.runner.unlockDataDir() // Start does so again
	own, err := r.identity()
	if err != nil {
		return err
	}
	if own.Generation != 0 || !r.hasData() { // contacts of its own can be served alone if this comes to nothing
		if err := r.save(standbyName, own); err != nil {
			return err
		}
	}
	s := &standby{replica: r, own: own, report: report}
	defer s.stop()
	found, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	if err := s.takeOver(ctx, found); err != nil {
		r.set(Fenced, err)
		return errors.Join(err, r.lease.release(context.WithoutCancel(ctx), 0))
	}
	r.set(Starting, nil)
	return os.RemoveAll(r.path(standbyName))
}

// standby is what a standby knows at who serves.
type standby struct {
	replica    *Replica
	own        identity
	report     func(format string, args ...any)
	tag        string        // of the record that was seen last
	since      time.Duration // when it was seen first
	follower   *follower     // of the generation that is the present one, nil before it follows
	restores   bool          // whether the databases come from the store, not from the data directory
	lastReport string
}

// acquire waits for the lease and returns the record that was there before.
func (s *standby) acquire(ctx context.Context) (lockRecord, error) {
	r := s.replica
	for {
		found, tag, err := r.readLock(ctx)
		switch {
		case ctx.Err() != nil:
			return lockRecord{}, ctx.Err()
		case err != nil:
			r.set(Following, err)
			s.reportChange("cannot read the replica, retrying: %s", err)
		case found.Generation > 0 && s.own.Generation == 0 && r.hasData():
			return lockRecord{}, fmt.Errorf("the data folder %s has contacts that are not of the replica, which has those of %s: move the folder away, or replicate to another location",
				r.dataDir, found.Owner)
		case s.isFree(found, tag):
			err := s.take(ctx, found, tag)
			if err == nil {
				return found, nil
			}
			if !errors.Is(err, store.ErrChanged) {
				r.set(Following, err)
				s.reportChange("cannot serve yet, retrying: %s", err)
			}
		default:
			err := s.follow(found.Generation)
			r.set(Following, err)
			if err != nil {
				s.reportChange("standing by for %s, whose replica cannot be followed: %s", found.Owner, err)
			} else {
				s.reportChange("standing by for %s", found.Owner)
			}
		}
		select {
		case <-ctx.Done():
			return lockRecord{}, ctx.Err()
		case <-time.After(min(r.config.Lease/pollsPerLease, time.Second)):
		}
	}
}

// isFree tells whether nobody serves. Of somebody who is silent it is known only after all of their lease, by this machine's
// clock, since they were heard last.
func (s *standby) isFree(found lockRecord, tag string) bool {
	if tag != s.tag || s.since == 0 {
		s.tag, s.since = tag, clock()
	}
	if found.TTL == 0 && found.Folder != s.own.Folder && tag != "" {
		return found.Released // it serves without a lease, and is never taken over from
	}
	ttl := max(s.replica.config.Lease, time.Duration(found.TTL*float64(time.Second)))
	return tag == "" || found.Released || clock()-s.since >= ttl
}

// origin returns what the next generation begins with, as the store has it, and notes whether that has to be restored: unless the data
// folder has everything that the store has. The error is a lossError where the store lacks something that was acknowledged.
func (s *standby) origin(ctx context.Context, found lockRecord) (Position, error) {
	r := s.replica
	ctx, cancel := context.WithTimeout(ctx, r.config.Lease) // then the record is read again
	defer cancel()
	from := s.patient(Following)
	s.restores = false
	newStore := found.Generation == 0
	if newStore {
		all, err := generations(ctx, from)
		if err != nil {
			return Position{}, err
		}
		newStore = len(all) == 0 || all[0] <= s.own.Generation
	}
	if newStore {
		return Position{}, nil
	}
	if s.own.Generation > 0 && s.own.Folder == found.Folder {
		local, stored, err := r.standing(ctx, from, s.own, found)
		if err != nil || !local.before(stored) {
			return stored, err
		}
		s.reportChange("the data directory ends at %s and the replica at %s: restoring the replica", local, stored)
	}
	s.restores = true
	return r.latest(ctx, from, found)
}

// patient returns the store with requests that are repeated: one that fails says nothing about what the store has.
func (s *standby) patient(state State) store.Store {
	return store.Retrying(s.replica.store, func(err error) {
		s.replica.set(state, err)
		s.reportChange("cannot read the replica, retrying: %s", err)
	})
}

// take writes this machine into the record, unless it could not serve what was acknowledged last: then nobody is served, until the store
// has it again, the machine that has it serves again, or an operator accepts the loss.
func (s *standby) take(ctx context.Context, found lockRecord, tag string) error {
	r := s.replica
	from, err := s.origin(ctx, found)
	if err != nil {
		return err
	}
	if s.restores && from.Transaction == 0 {
		return fmt.Errorf("the replica of machine %s contains nothing that can be restored: start that machine", found.Owner)
	}
	generation, err := r.following(ctx, s.own, found)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.Lease/4)
	defer cancel()
	next := lockRecord{Generation: generation, From: from, Owner: r.host, Folder: s.own.Folder, TTL: r.config.Lease.Seconds()}
	sent := clock()
	newTag, err := r.writeLock(ctx, next, tag)
	if err != nil {
		return err
	}
	r.lease = newLease(r, next, newTag, sent)
	return nil
}

// takeOver brings the data directory to where the holder before was. It ends once the lease is lost.
func (s *standby) takeOver(ctx context.Context, previous lockRecord) error {
	r, began := s.replica, time.Now()
	if s.restores {
		r.set(CatchingUp, nil)
		s.reportChange("taking over from %s", previous.Owner)
		ctx, cancel := r.lease.while(ctx)
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
	return r.begin(s.own, r.lease.record.Generation)
}

func (s *standby) reportChange(format string, args ...any) {
	if message := fmt.Sprintf(format, args...); message != s.lastReport {
		s.lastReport = message
		s.report("%s", message)
	}
}

// follow has the databases of a generation follow it, in a folder of their own.
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

// catchUp puts all that the store has after the record before into the place of the databases. What was there is kept. Requests are
// repeated until they succeed or the lease is lost.
func (s *standby) catchUp(ctx context.Context, previous lockRecord) error {
	r := s.replica
	from := s.patient(CatchingUp)
	at, err := r.latest(ctx, from, previous) // the holder may have sent more until it lost the lease
	if err != nil {
		return err
	}
	if err := s.follow(at.Generation); err != nil {
		return err
	}
	s.follower.stop()
	s.follower.from = from
	if err := s.follower.finish(ctx, dataFile, at.Transaction); err != nil {
		return fmt.Errorf("restoring %s to %s: %w", dataFile, at, err)
	}
	logs, err := clientOf(from, at.Generation, auxiliaryFile).extent(ctx)
	if err != nil {
		return err
	}
	if err := s.follower.finish(ctx, auxiliaryFile, logs.whole); err != nil {
		s.follower.discard(auxiliaryFile) // request logs begin anew
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
		if err := os.Rename(r.path(filepath.Join(followingName, file)), filepath.Join(r.dataDir, file)); err != nil && file == dataFile {
			return err
		}
	}
	return os.RemoveAll(r.path(followingName))
}

// asidePrefix begins the names of folders with the databases that a replica was put in the place of.
const asidePrefix = ".contactbase_replaced-"

// moveAside keeps the databases that are in the data folder, and no older ones.
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
