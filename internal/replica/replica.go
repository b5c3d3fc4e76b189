// Package replica keeps a copy of the databases in a store outside of the machine, by Litestream, and has another machine take
// over from it.
//
// The store has a folder for each generation, which one holder writes: <generation>/data.db and <generation>/auxiliary.db. Its
// lock.json tells which generation is the present one, and whose. A holder that starts begins a new generation, so that it never
// writes where its successor does.
package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"contactbase/internal/replica/store"
)

// The databases, and what this package keeps beside them.
const (
	dataFile      = "data.db"
	auxiliaryFile = "auxiliary.db"
	folderName    = ".contactbase_replica" // restoring a backup moves it away with the databases
)

// Mode says when a write is answered.
type Mode string

// The modes.
const (
	Async Mode = "async" // once the disk has it
	Sync  Mode = "sync"  // once the replica has it, too
)

var (
	// ErrUnreplicated means that what was written is not in the store yet. It may be there later.
	ErrUnreplicated = errors.New("the replica does not have it yet")
	// ErrFenced means that another machine serves, or may.
	ErrFenced = errors.New("another machine has taken over, or may have")
	// ErrStandby means that a folder waits for the machine that serves to fail.
	ErrStandby = errors.New("the data folder belongs to a standby")
)

// shortestLease is the shortest time in which the store can be asked four times.
const shortestLease = time.Second

// Config is what is said of a replica.
type Config struct {
	URL      string // of the store, "" for no replica
	Mode     Mode
	Interval time.Duration // between two uploads
	Timeout  time.Duration // how long an answer waits for the replica in Sync
	Lease    time.Duration // how long a machine that fell silent is waited for before another takes over, 0 for ever
	// AcceptLoss is what may be missing of what was acknowledged, zero for nothing.
	AcceptLoss Loss
}

// Check refuses values that make no sense. name returns what a setting is called.
func (c Config) Check(name func(flag string) string) error {
	switch {
	case c.Mode != Async && c.Mode != Sync:
		return fmt.Errorf("%s takes async or sync, not %q", name("replicaMode"), c.Mode)
	case c.Interval < 50*time.Millisecond:
		return fmt.Errorf("%s must be at least 50ms", name("replicaInterval"))
	case c.Timeout <= 0:
		return fmt.Errorf("%s must be more than 0", name("replicaPatience"))
	case c.Lease != 0 && c.Lease < shortestLease:
		return fmt.Errorf("%s must be 0 or at least %s", name("lease"), shortestLease)
	case c.URL == "" && (c.Mode == Sync || c.Lease != 0):
		return fmt.Errorf("%s and %s need %s", name("replicaMode"), name("lease"), name("replica"))
	case c.Lease != 0 && !store.IsShared(c.URL):
		return fmt.Errorf("%s needs a replica in s3://: machines agree there on who serves", name("lease"))
	}
	return nil
}

// Replica is the replica of a data folder.
type Replica struct {
	config  Config
	store   store.Store
	dataDir string
	host    string

	generation int64  // that this process writes, 0 before it does
	folder     string // the identity of the data directory, "" before this process writes
	// position is the last transaction of that generation that the store is known to have.
	position         atomic.Uint64
	positionRecorded atomic.Bool // whether lock.json says that the store has something of the generation
	lease            *lease      // nil where there is none
	runner           runner
	events           replicatedEvents

	mu             sync.Mutex
	state          State
	last           error        // of what keeps it from replicating, nil for nothing
	displaced      error        // by another machine in the same location, nil for none
	restoreTest    *RestoreTest // the last one, nil before it
	restoreTesting sync.Mutex   // held by the one that runs
}

// Open returns the replica of a data folder, nil where the configuration has none. It connects to nothing.
func Open(config Config, dataDir string) (*Replica, error) {
	if config.URL == "" {
		return nil, nil
	}
	found, err := store.Open(config.URL, store.CredentialsFrom(os.Getenv))
	if err != nil {
		return nil, err
	}
	if err := checkLocation(found, dataDir); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	r := &Replica{config: config, store: found, dataDir: dataDir, host: host, state: Starting}
	r.restoreTest = readRestoreTest(r.path(restoreTestName))
	return r, nil
}

// checkPath refuses a data folder whose databases Litestream would not find: it opens them by an address, in which these characters mean
// something, and would hold another file's log than the one that it reads.
func (r *Replica) checkPath() error {
	if strings.ContainsAny(r.dataDir, "#?%") {
		return fmt.Errorf("the data folder %s cannot have a replica: its path has one of # ? %%; move it to another one", r.dataDir)
	}
	return nil
}

// HasLease tells whether machines take over from one another.
func (r *Replica) HasLease() bool { return r != nil && r.config.Lease > 0 }

func (r *Replica) path(name string) string { return filepath.Join(r.dataDir, folderName, name) }

// client returns what Litestream reads and writes a database of a generation by.
func (r *Replica) client(generation int64, file string) *client {
	return clientOf(r.store, generation, file)
}

func clientOf(s store.Store, generation int64, file string) *client {
	return &client{store: s, folder: strconv.FormatInt(generation, 10) + "/" + file}
}

// set notes the state, and what keeps it from a better one.
func (r *Replica) set(state State, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.last = state, err
}

// adopt has this process write the generation that the data directory has.
func (r *Replica) adopt(own identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generation, r.folder = own.Generation, own.Folder
}

// note notes what keeps the replica from replicating, nil for nothing.
func (r *Replica) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = err
}

// Obstacle returns what keeps a standby from following or from taking over, nil where it waits for another machine to fail.
func (r *Replica) Obstacle() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// quiet has only what goes wrong logged of what Litestream tells: a log entry is a write, which it would tell of again.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }
