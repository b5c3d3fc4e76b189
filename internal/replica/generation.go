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
)

const (
	lockName     = "lock.json"   // in the store
	identityName = "folder.json" // what the data folder is to the store
	standbyName  = "standby"     // is there while the folder waits
	kept         = int64(2)      // older generations, beside the present one
	jsonMode     = fs.FileMode(0o600)
)

// record is lock.json: which generation is the present one, and whose.
type record struct {
	Generation int64     `json:"generation"`
	Owner      string    `json:"owner"`              // the machine, for people
	Folder     string    `json:"folder"`             // the identity of its data folder
	TTL        float64   `json:"ttl,omitempty"`      // in seconds, 0 for one that nobody takes over from
	Renewed    time.Time `json:"renewed"`            // for people: machines trust no other machine's clock, and see that it changes
	Released   bool      `json:"released,omitempty"` // whether the owner has ended, and waits for nobody
}

// identity is what a data folder is to a store.
type identity struct {
	Folder     string `json:"folder"`
	Store      string `json:"store"`
	Generation int64  `json:"generation"` // that was begun with its databases, or unusable
}

// unusable is the generation of a folder whose databases are being replaced.
const unusable = -1

// present reads lock.json. Without one it returns a record of generation 0, and "" for its tag.
func (r *Replica) present(ctx context.Context) (found record, tag string, err error) {
	content, tag, err := r.store.Read(ctx, lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, "", nil
	}
	if err != nil {
		return record{}, "", err
	}
	if err := json.Unmarshal(content, &found); err != nil {
		return record{}, "", fmt.Errorf("the store's %s cannot be read: %w", lockName, err)
	}
	return found, tag, nil
}

// write replaces lock.json.
func (r *Replica) write(ctx context.Context, next record, tag string) (newTag string, err error) {
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
	r.setGeneration(generation)
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
	found, tag, err := r.present(ctx)
	if err != nil {
		return err
	}
	if found.TTL > 0 && !found.Released && found.Folder != own.Folder {
		return fmt.Errorf("the replica is that of %s, which serves with --lease: serve with it here as well, or replicate to another place", found.Owner)
	}
	if own.Generation > 0 && found.Generation > own.Generation && found.Folder != own.Folder {
		return fmt.Errorf("another machine, %s, has taken the place of this one, whose contacts are old: restore them from there into a new folder, "+
			"or replicate to another place", found.Owner)
	}
	if own.Generation > 0 && found.Generation == own.Generation && found.Folder == own.Folder && found.TTL == 0 {
		r.setGeneration(own.Generation)
		return nil
	}
	next := record{Generation: max(found.Generation, own.Generation) + 1, Owner: r.host, Folder: own.Folder}
	if _, err := r.write(ctx, next, tag); err != nil {
		return err
	}
	return r.begin(own, next.Generation)
}

// generations lists those that the store has something of, the newest first.
func (r *Replica) generations(ctx context.Context) ([]int64, error) {
	names, err := r.store.Folders(ctx, "")
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

// prune deletes generations that nobody restores any more.
func (r *Replica) prune(ctx context.Context) error {
	all, err := r.generations(ctx)
	if err != nil {
		return err
	}
	for _, generation := range all {
		if generation >= r.generation-kept {
			continue
		}
		if err := r.store.DeleteFolder(ctx, strconv.FormatInt(generation, 10)); err != nil {
			return err
		}
	}
	return nil
}

// source returns the newest generation, up to one, that can be restored: its holder may have failed before it had sent all. It
// is 0 where there is none.
func (r *Replica) source(ctx context.Context, newest int64) (int64, error) {
	all, err := r.generations(ctx)
	if err != nil {
		return 0, err
	}
	for _, generation := range all {
		if generation > newest {
			continue
		}
		complete, err := r.client(generation, dataFile).restorable(ctx)
		if err != nil || complete {
			return generation, err
		}
	}
	return 0, nil
}

// CheckFolder returns ErrStandby where the data folder waits for another machine to fail.
func CheckFolder(dataDir string) error {
	if _, err := os.Stat(filepath.Join(dataDir, folderName, standbyName)); err == nil {
		return fmt.Errorf("%w: another machine serves its contacts, and commands belong there; with the --lease and --replica of that "+
			"machine, serve takes over from it where it is lost", ErrStandby)
	}
	return nil
}
