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

// polls is how often a standby looks at the lease while that lasts.
const polls = 8

// Stand waits until this machine may serve, and then has its data folder hold what the replica does. Until then the folder
// must not be open. tell is told what it waits for. The error is that of ctx, or why this folder cannot serve.
func (r *Replica) Stand(ctx context.Context, tell func(format string, args ...any)) error {
	if err := r.checkPath(); err != nil {
		return err
	}
	if err := r.own(); err != nil {
		return err
	}
	defer r.runner.disown() // Start does so again
	own, err := r.identity()
	if err != nil {
		return err
	}
	if own.Generation != 0 || !r.hasData() { // contacts of its own can be served alone if this comes to nothing
		if err := r.save(standbyName, own); err != nil {
			return err
		}
	}
	w := &watch{replica: r, own: own, tell: tell}
	defer w.stop()
	found, err := w.acquire(ctx)
	if err != nil {
		return err
	}
	if err := w.takeOver(ctx, found); err != nil {
		r.set(Fenced, err)
		return errors.Join(err, r.lease.release(context.WithoutCancel(ctx), 0))
	}
	r.set(Starting, nil)
	return os.RemoveAll(r.path(standbyName))
}

// watch is a standby's look at who serves.
type watch struct {
	replica    *Replica
	own        identity
	tell       func(format string, args ...any)
	tag        string        // of the record that was seen last
	since      time.Duration // when it was seen first
	follower   *follower     // of the generation that is the present one, nil before it follows
	restores   bool          // whether the databases come from the store, not from the data directory
	lastReport string
}

// acquire waits for the lease and returns the record that was there before.
func (w *watch) acquire(ctx context.Context) (record, error) {
	r := w.replica
	for {
		found, tag, err := r.present(ctx)
		switch {
		case ctx.Err() != nil:
			return record{}, ctx.Err()
		case err != nil:
			r.set(Following, err)
			w.say("cannot read the replica, retrying: %s", err)
		case found.Generation > 0 && w.own.Generation == 0 && r.hasData():
			return record{}, fmt.Errorf("the data folder %s has contacts that are not of the replica, which has those of %s: move the folder away, or replicate to another place",
				r.dataDir, found.Owner)
		case w.isFree(found, tag):
			err := w.take(ctx, found, tag)
			if err == nil {
				return found, nil
			}
			if !errors.Is(err, store.ErrChanged) {
				r.set(Following, err)
				w.say("cannot serve yet, retrying: %s", err)
			}
		default:
			err := w.follow(found.Generation)
			r.set(Following, err)
			if err != nil {
				w.say("standing by for %s, whose replica cannot be followed: %s", found.Owner, err)
			} else {
				w.say("standing by for %s", found.Owner)
			}
		}
		select {
		case <-ctx.Done():
			return record{}, ctx.Err()
		case <-time.After(min(r.config.Lease/polls, time.Second)):
		}
	}
}

// isFree tells whether nobody serves. Of somebody who is silent it is known only after all of their lease, by this machine's
// clock, since they were heard last.
func (w *watch) isFree(found record, tag string) bool {
	if tag != w.tag || w.since == 0 {
		w.tag, w.since = tag, clock()
	}
	if found.TTL == 0 && found.Folder != w.own.Folder && tag != "" {
		return found.Released // it serves without a lease, and is never taken over from
	}
	ttl := max(w.replica.config.Lease, time.Duration(found.TTL*float64(time.Second)))
	return tag == "" || found.Released || clock()-w.since >= ttl
}

// origin returns what the next generation begins with, as the store has it, and notes whether that has to be restored: unless the data
// folder has everything that the store has. The error is a lossError where the store lacks something that was acknowledged.
func (w *watch) origin(ctx context.Context, found record) (Position, error) {
	r := w.replica
	ctx, cancel := context.WithTimeout(ctx, r.config.Lease) // then the record is read again
	defer cancel()
	from := w.patient(Following)
	w.restores = false
	newStore := found.Generation == 0
	if newStore {
		all, err := generations(ctx, from)
		if err != nil {
			return Position{}, err
		}
		newStore = len(all) == 0 || all[0] <= w.own.Generation
	}
	if newStore {
		return Position{}, nil
	}
	if w.own.Generation > 0 && w.own.Folder == found.Folder {
		local, stored, err := r.standing(ctx, from, w.own, found)
		if err != nil || !local.before(stored) {
			return stored, err
		}
		w.say("the data directory ends at %s and the replica at %s: restoring the replica", local, stored)
	}
	w.restores = true
	return r.latest(ctx, from, found)
}

// patient returns the store with requests that are repeated: one that fails says nothing about what the store has.
func (w *watch) patient(state State) store.Store {
	return store.Retrying(w.replica.store, func(err error) {
		w.replica.set(state, err)
		w.say("cannot read the replica, retrying: %s", err)
	})
}

// take writes this machine into the record, unless it could not serve what was acknowledged last: then nobody is served, until the store
// has it again, the machine that has it serves again, or an operator accepts the loss.
func (w *watch) take(ctx context.Context, found record, tag string) error {
	r := w.replica
	from, err := w.origin(ctx, found)
	if err != nil {
		return err
	}
	if w.restores && from.Transaction == 0 {
		return fmt.Errorf("the replica of machine %s contains nothing that can be restored: start that machine", found.Owner)
	}
	generation, err := r.following(ctx, w.own, found)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.Lease/4)
	defer cancel()
	next := record{Generation: generation, From: from, Owner: r.host, Folder: w.own.Folder, TTL: r.config.Lease.Seconds()}
	sent := clock()
	newTag, err := r.write(ctx, next, tag)
	if err != nil {
		return err
	}
	r.lease = newLease(r, next, newTag, sent)
	return nil
}

// takeOver brings the data directory to where the holder before was. It ends once the lease is lost.
func (w *watch) takeOver(ctx context.Context, before record) error {
	r, began := w.replica, time.Now()
	if w.restores {
		r.set(CatchingUp, nil)
		w.say("taking over from %s", before.Owner)
		ctx, cancel := r.lease.while(ctx)
		defer cancel()
		if err := w.catchUp(ctx, before); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		w.say("took over in %s", time.Since(began).Round(100*time.Millisecond))
	}
	if !r.lease.held() {
		return ErrFenced
	}
	return r.begin(w.own, r.lease.record.Generation)
}

func (w *watch) say(format string, args ...any) {
	if said := fmt.Sprintf(format, args...); said != w.lastReport {
		w.lastReport = said
		w.tell("%s", said)
	}
}

// follow has the databases of a generation follow it, in a folder of their own.
func (w *watch) follow(generation int64) (err error) {
	if w.follower != nil && w.follower.generation == generation {
		return nil
	}
	w.stop()
	w.follower, err = newFollower(w.replica, generation)
	return err
}

func (w *watch) stop() {
	if w.follower != nil {
		w.follower.stop()
		w.follower = nil
	}
}

// catchUp puts all that the store has after the record before into the place of the databases. What was there is kept. Requests are
// repeated until they succeed or the lease is lost.
func (w *watch) catchUp(ctx context.Context, before record) error {
	r := w.replica
	from := w.patient(CatchingUp)
	at, err := r.latest(ctx, from, before) // the holder may have sent more until it lost the lease
	if err != nil {
		return err
	}
	if err := w.follow(at.Generation); err != nil {
		return err
	}
	w.follower.stop()
	w.follower.from = from
	if err := w.follower.finish(ctx, dataFile, at.Transaction); err != nil {
		return fmt.Errorf("restoring %s to %s: %w", dataFile, at, err)
	}
	logs, err := clientOf(from, at.Generation, auxiliaryFile).extent(ctx)
	if err != nil {
		return err
	}
	if err := w.follower.finish(ctx, auxiliaryFile, logs.whole); err != nil {
		w.follower.discard(auxiliaryFile) // request logs begin anew
	}
	w.stop()
	w.own.Generation = unusable
	if err := r.save(identityName, w.own); err != nil {
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
