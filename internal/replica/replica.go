// Package replica copies the databases of a data directory to a store outside of the machine, with Litestream, and
// lets another machine take over.
//
// The store has a directory for each generation, <generation>/data.db and <generation>/auxiliary.db, which a single
// machine writes: its holder. The object lock.json names the current generation and its holder. A machine that takes
// over begins a new generation, so that no machine ever writes where its successor does.
//
// With a lease, a machine goes through these states:
//
//	following      Another machine serves. Local copies of its databases follow the current generation.
//	    |
//	    |          acquire: the lock record is released, or did not change for a whole lease, and the store or the
//	    v          data directory has everything that was acknowledged. The new lock record begins the next generation.
//	catching up    The copies are brought to the last position, checked, and replace the databases.
//	    |          A data directory that already has everything skips this state.
//	    v
//	starting       The process serves. The first upload of its generation is not complete.
//	    |
//	    v
//	active         The store is kept up to date.
//	    |
//	    v          The lease was lost, or was not renewed in time.
//	fenced         No commit and no acknowledgement succeeds. The process ends, and starts again as a standby.
//
// RunStandby goes from following to starting. Start and the first upload lead to active. Whether a machine is fenced
// follows from its lease alone. Without a lease a machine begins in starting and claims the location. If the store
// has something that the data directory lacks, it is refused instead and ends.
package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"contactbase/internal/replica/control"
	"contactbase/internal/replica/shipping"
	"contactbase/internal/replica/store"
)

// The databases, and the directory of this package in the data directory.
const (
	dataFile      = "data.db"
	auxiliaryFile = "auxiliary.db"
	folderName    = ".contactbase_replica" // restoring a backup moves it away with the databases
)

// Mode determines when a write is acknowledged.
type Mode string

// The modes.
const (
	Async Mode = "async" // once it is on the disk
	Sync  Mode = "sync"  // once it is in the store, too
)

var (
	// ErrUnreplicated means that the store does not have a write yet. It may have it later.
	ErrUnreplicated = shipping.ErrUnreplicated
	// ErrNotServed means that no server with a replica has the data directory open.
	ErrNotServed = control.ErrNotServed
	// ErrFenced means that another machine serves, or may serve.
	ErrFenced = errors.New("another machine has taken over, or may have")
	// ErrStandby means that a data directory belongs to a standby.
	ErrStandby = errors.New("the data directory belongs to a standby")
)

// minLease is the shortest lease: it has to last for four requests to the store.
const minLease = time.Second

// Config is the configuration of a replica.
type Config struct {
	URL        string // of the store; "" for no replica
	Mode       Mode
	Interval   time.Duration // between two uploads
	Timeout    time.Duration // how long a response waits for the replica in Sync mode
	Lease      time.Duration // how long a machine may be unresponsive before another one takes over; 0 for no failover
	AcceptLoss Loss          // acknowledged writes that may be lost; zero for none
}

// Check returns an error if the configuration is invalid. The function name returns the name of a setting for the user.
func (c Config) Check(name func(flag string) string) error {
	switch {
	case c.Mode != Async && c.Mode != Sync:
		return fmt.Errorf("%s must be async or sync, not %q", name("replicaMode"), c.Mode)
	case c.Interval < 50*time.Millisecond:
		return fmt.Errorf("%s must be at least 50ms", name("replicaInterval"))
	case c.Timeout <= 0:
		return fmt.Errorf("%s must be more than 0", name("replicaPatience"))
	case c.Lease != 0 && c.Lease < minLease:
		return fmt.Errorf("%s must be 0 or at least %s", name("lease"), minLease)
	case c.URL == "" && (c.Mode == Sync || c.Lease != 0):
		return fmt.Errorf("%s and %s require %s", name("replicaMode"), name("lease"), name("replica"))
	case c.Lease != 0 && !store.IsShared(c.URL):
		return fmt.Errorf("%s requires a replica in s3://, where machines agree on which one serves", name("lease"))
	}
	return nil
}

// Replica is the replica of a data directory.
type Replica struct {
	config  Config
	store   store.Store
	dataDir string
	host    string

	lease       *lease      // acquired by RunStandby; nil without one
	written     written     // the generation that this process writes
	replication replication // what runs from Start to Stop
	events      replicatedEvents
	progress    progress

	refused        chan error // gets why the data directory must not be served, at most once
	restoreTesting sync.Mutex // held during a restore test
}

// Open returns the replica of a data directory, or nil if the configuration has none. It does not connect to the store.
func Open(config Config, dataDir string) (*Replica, error) {
	if config.URL == "" {
		return nil, nil
	}
	opened, err := store.Open(config.URL, store.CredentialsFrom(os.Getenv))
	if err != nil {
		return nil, err
	}
	if err := checkLocation(opened, dataDir); err != nil {
		return nil, err
	}
	// Litestream puts the path into a URI as it is, so that it would hold its read transaction on another file
	if at := strings.IndexAny(dataDir, "?#%"); at >= 0 {
		return nil, fmt.Errorf("a data directory with a replica cannot have %q in its path: rename %s", dataDir[at], dataDir)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	r := &Replica{config: config, store: opened, dataDir: dataDir, host: host, refused: make(chan error, 1)}
	r.progress.state, r.progress.restoreTest = Starting, readRestoreTest(r.path(restoreTestName))
	return r, nil
}

// IsSync reports whether responses wait for the store.
func (r *Replica) IsSync() bool { return r != nil && r.config.Mode == Sync }

// HasLease reports whether machines take over from one another.
func (r *Replica) HasLease() bool { return r != nil && r.config.Lease > 0 }

// Holds returns ErrFenced unless this machine may serve.
func (r *Replica) Holds() error {
	if r != nil && r.lease != nil && !r.lease.held() {
		return ErrFenced
	}
	return nil
}

// Lost returns a channel that is closed when another machine has taken over, or may have. It is nil without a lease.
func (r *Replica) Lost() <-chan struct{} {
	if !r.HasLease() {
		return nil
	}
	return r.lease.lost
}

// AwaitLoss waits until this machine must no longer serve, and returns why: ErrFenced, or that the data directory
// lacks what the store has. It returns nil once ctx ends.
func (r *Replica) AwaitLoss(ctx context.Context) error {
	if r == nil {
		return nil
	}
	select {
	case <-r.Lost():
		return ErrFenced
	case err := <-r.refused:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (r *Replica) path(name string) string { return filepath.Join(r.dataDir, folderName, name) }

// Acknowledge returns once everything that this process has committed may be acknowledged: in Sync mode once the
// store has it, and with a lease while this machine holds the lease. Without a replica it returns immediately. The
// error is ErrUnreplicated or ErrFenced.
func (r *Replica) Acknowledge(ctx context.Context) error {
	return r.acknowledge(ctx, (*shipping.Uploader).Wait)
}

// AcknowledgeAll is Acknowledge for the commits of all processes.
func (r *Replica) AcknowledgeAll(ctx context.Context) error {
	return r.acknowledge(ctx, (*shipping.Uploader).Flush)
}

func (r *Replica) acknowledge(ctx context.Context, replicated func(*shipping.Uploader, context.Context) error) error {
	if err := r.Holds(); err != nil || !r.IsSync() {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	data, err := r.replication.data(ctx)
	if err != nil {
		return err
	}
	if err := replicated(data, ctx); err != nil {
		return err
	}
	return r.Holds() // a late upload may have arrived after the successor read the store
}
