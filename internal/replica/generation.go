package replica

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/superfly/ltx"

	"contactbase/internal/replica/store"
)

const (
	lockName     = "lock.json"   // in the store
	identityName = "folder.json" // what the data folder is to the store
	standbyName  = "standby"     // is there while the folder waits
	kept         = 2             // older generations, beside the present one
	jsonMode     = fs.FileMode(0o600)
)

// record is lock.json: which generation is the present one, whose it is, and what was acknowledged last.
type lockRecord struct {
	Generation int64     `json:"generation"`
	Position   uint64    `json:"position"`            // the last transaction of the generation that the store had at the last renewal; 0 until something of it may be acknowledged
	From       Position  `json:"from"`                // what the generation began with, in the store
	Unshipped  uint64    `json:"unshipped,omitempty"` // commits that the owner has answered and the store never got, when it stopped
	Owner      string    `json:"owner"`               // the machine, for people
	Folder     string    `json:"folder"`              // the identity of its data directory
	TTL        float64   `json:"ttl,omitempty"`       // in seconds, 0 for one that nobody takes over from
	Renewed    time.Time `json:"renewed"`             // for people: machines trust no other machine's clock, and see that it changes
	Released   bool      `json:"released,omitempty"`  // whether the owner has ended, and waits for nobody
}

// acknowledged returns the last position of which the store is known to have everything.
func (l lockRecord) acknowledged() Position {
	if l.Position == 0 {
		return l.From
	}
	return Position{l.Generation, ltx.TXID(l.Position)}
}

// identity is what a data folder is to a store.
type identity struct {
	Folder     string `json:"folder"`
	Store      string `json:"store"`
	Generation int64  `json:"generation"` // that was begun with its databases, or unusable
}

// unusable is the generation of a folder whose databases are being replaced.
const unusable = -1

// readLock reads lock.json. Without one it returns a record of generation 0, and "" for its tag.
func (r *Replica) readLock(ctx context.Context) (found lockRecord, tag string, err error) {
	content, tag, err := r.store.Read(ctx, lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return lockRecord{}, "", nil
	}
	if err != nil {
		return lockRecord{}, "", err
	}
	if err := json.Unmarshal(content, &found); err != nil {
		return lockRecord{}, "", fmt.Errorf("the store's %s cannot be read: %w", lockName, err)
	}
	return found, tag, nil
}

// writeLock replaces lock.json.
func (r *Replica) writeLock(ctx context.Context, next lockRecord, tag string) (newTag string, err error) {
	next.Renewed = time.Now().UTC()
	content, err := json.Marshal(next)
	if err != nil {
		return "", err
	}
	return r.store.Swap(ctx, lockName, content, tag)
}

// identity returns what the data folder is to this store. One that was never part of it, or has lost its database, gets an
// identity of generation 0.
func (r *Replica) identity() (identity, error) {
	unknown := identity{Folder: rand.Text(), Store: r.config.URL}
	content, err := os.ReadFile(r.path(identityName))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}
	if err != nil {
		return unknown, err
	}
	var known identity
	if err := json.Unmarshal(content, &known); err != nil {
		return unknown, fmt.Errorf("%s cannot be read: %w", r.path(identityName), err)
	}
	if known.Store != r.config.URL || !r.hasData() {
		return unknown, nil
	}
	return known, nil
}

func (r *Replica) hasData() bool {
	info, err := os.Stat(filepath.Join(r.dataDir, dataFile))
	return err == nil && info.Size() > 0
}

// begin has the databases of the data folder be those of a generation of this process, of which the store has nothing.
func (r *Replica) begin(own identity, generation int64) error {
	for _, file := range []string{dataFile, auxiliaryFile} {
		if err := os.RemoveAll(r.path(file)); err != nil {
			return err
		}
	}
	own.Generation = generation
	if err := r.save(identityName, own); err != nil {
		return err
	}
	r.adopt(own)
	return nil
}

// save writes a small file of this package's, all of it or nothing.
func (r *Replica) save(name string, content any) error {
	encoded, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.path(""), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(r.path(name)+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, jsonMode)
	if err != nil {
		return err
	}
	_, err = file.Write(encoded)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), r.path(name))
}

// claim begins a generation for a machine without a lease, or goes on with the one that it has written before.
func (r *Replica) claim(ctx context.Context) error {
	own, err := r.identity()
	if err != nil {
		return err
	}
	found, tag, err := r.readLock(ctx)
	if err != nil {
		return err
	}
	if found.TTL > 0 && !found.Released && found.Folder != own.Folder {
		return fmt.Errorf("the replica is that of %s, which serves with --lease: serve with it here as well, or replicate to another location", found.Owner)
	}
	if own.Generation > 0 && found.Generation > own.Generation && found.Folder != own.Folder {
		return fmt.Errorf("another machine, %s, has replaced this one, whose data is outdated: restore the replica into a new directory, "+
			"or replicate to another location", found.Owner)
	}
	from := found.acknowledged()
	if own.Generation > 0 && found.Folder == own.Folder {
		var local Position
		if local, from, err = r.standing(ctx, r.store, own, found); err != nil {
			return err
		}
		setBack := local.before(from)
		if setBack {
			lost := &lossError{where: theDataDirectory, found: local, acknowledged: from}
			if err := lost.accepted(r.config.AcceptLoss); err != nil {
				return err
			}
		}
		if !setBack && found.Generation == own.Generation && found.TTL == 0 {
			r.adopt(own)
			return nil
		}
	}
	next, err := r.following(ctx, own, found)
	if err != nil {
		return err
	}
	if _, err := r.writeLock(ctx, lockRecord{Generation: next, From: from, Owner: r.host, Folder: own.Folder}, tag); err != nil {
		return err
	}
	return r.begin(own, next)
}

// following returns the number of a generation of which the store has nothing.
func (r *Replica) following(ctx context.Context, own identity, found lockRecord) (int64, error) {
	newest := max(found.Generation, own.Generation)
	if found.Generation == 0 { // lock.json may have been lost
		all, err := generations(ctx, r.store)
		if err != nil {
			return 0, err
		}
		newest = max(newest, slices.Max(append(all, 0)))
	}
	return newest + 1, nil
}

// updateLock has lock.json say what the store has of the generation. Nothing of a generation is acknowledged before it says so once; later
// it is written with the renewals of the lease, or now and then, and says less than what the store has: restores go by both.
func (r *Replica) updateLock(ctx context.Context) error {
	if r.lease != nil {
		return r.lease.renew(ctx)
	}
	return r.rewriteLock(ctx, func(*lockRecord) {})
}

// rewriteLock changes lock.json where there is no lease.
func (r *Replica) rewriteLock(ctx context.Context, change func(*lockRecord)) error {
	found, tag, err := r.readLock(ctx)
	if err != nil {
		return err
	}
	if found.Generation != r.generation || found.Folder != r.folder {
		return fmt.Errorf("another machine, %s, replicates to the same location", found.Owner)
	}
	found.Position, found.Unshipped = max(found.Position, r.position.Load()), 0
	change(&found)
	_, err = r.writeLock(ctx, found, tag)
	return err
}

// recordUpload notes that the store has everything up to a transaction. Before the first one may be acknowledged, lock.json has to say so.
func (r *Replica) recordUpload(ctx context.Context, last ltx.TXID) error {
	r.position.Store(max(r.position.Load(), uint64(last)))
	if r.positionRecorded.Load() {
		return nil
	}
	if err := r.updateLock(ctx); err != nil {
		return fmt.Errorf("recording that the store has something of generation %d: %w", r.generation, err)
	}
	r.positionRecorded.Store(true)
	return nil
}

// generations lists those that a store has something of, the newest first.
func generations(ctx context.Context, from store.Store) ([]int64, error) {
	names, err := from.Folders(ctx, "")
	if err != nil {
		return nil, err
	}
	var all []int64
	for _, name := range names {
		if generation, err := strconv.ParseInt(name, 10, 64); err == nil && generation > 0 {
			all = append(all, generation)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// prune deletes generations that nobody restores any more: all but the present one and those that are kept before it. It comes once
// something of the present one is acknowledged.
func (r *Replica) prune(ctx context.Context) error {
	all, err := generations(ctx, r.store)
	if err != nil {
		return err
	}
	older := slices.DeleteFunc(all, func(generation int64) bool { return generation >= r.generation })
	for _, generation := range older[min(kept, len(older)):] {
		if err := r.store.DeleteFolder(ctx, strconv.FormatInt(generation, 10)); err != nil {
			return err
		}
	}
	return nil
}

// CheckFolder returns ErrStandby where the data folder waits for another machine to fail.
func CheckFolder(dataDir string) error {
	if _, err := os.Stat(filepath.Join(dataDir, folderName, standbyName)); err == nil {
		return fmt.Errorf("%w: another machine serves its contacts, and commands belong there; with the --lease and --replica of that "+
			"machine, serve takes over from it where it is lost", ErrStandby)
	}
	return nil
}
