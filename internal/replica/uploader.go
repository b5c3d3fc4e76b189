package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
)

// retryInterval is how soon an upload that failed is tried again while somebody waits for it.
const retryInterval = 100 * time.Millisecond

// uploader has the store have what a database holds.
type uploader struct {
	db           *litestream.DB
	client       *client
	commits      func() uint64                         // how often it was committed to, by this process
	beforeUpload func() func()                         // called before each round; what it returns is called when that has succeeded
	uploaded     func(context.Context, ltx.TXID) error // called in each round, once the store has everything up to a transaction
	finished     func(error)                           // called after each round

	kick    chan struct{} // has a value when somebody waits for a round
	syncing sync.Mutex    // held by the one that has Litestream read the log, before the writer's turn
	wal     *groupedWAL   // of data.db, nil for others

	mu      sync.Mutex
	rounds  uint64        // that were begun
	done    uint64        // the last one that succeeded, 0 for none
	shipped uint64        // commits that were there when that one began
	since   time.Time     // when the oldest commit may have been made that is not in the store; zero where all are
	err     error         // of the last round
	changed chan struct{} // closed when a round ends
}

// newUploader returns a uploader of a database whose commits nobody counts.
func newUploader(path, metaPath string, to *client) *uploader {
	db := litestream.NewDB(path)
	db.SetMetaPath(metaPath)
	db.MonitorInterval = 0            // run has it replicate
	db.BusyTimeout = 10 * time.Second // as all others wait for the writer
	db.Replica = litestream.NewReplicaWithClient(db, to)
	db.Replica.MonitorEnabled = false
	to.opening.Store(true)
	return &uploader{
		db: db, client: to, kick: make(chan struct{}, 1), changed: make(chan struct{}),
		commits:      func() uint64 { return 0 },
		beforeUpload: func() func() { return func() {} },
		uploaded:     func(context.Context, ltx.TXID) error { return nil },
		finished:     func(error) {},
	}
}

// run replicates after each interval, and when somebody waits, until ctx ends.
func (u *uploader) run(ctx context.Context, interval time.Duration) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		case <-u.kick:
		}
		if u.replicate(ctx) == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryInterval):
		}
	}
}

// sync has Litestream read what was added to the log. That is not stopped half-way: others could take away what was not read.
func (u *uploader) sync(ctx context.Context) error {
	u.syncing.Lock()
	defer u.syncing.Unlock()
	return u.db.Sync(context.WithoutCancel(ctx))
}

// round uploaders all that was committed before it.
func (u *uploader) replicate(ctx context.Context) error {
	began := time.Now()
	commits := u.commits()
	u.mu.Lock()
	u.rounds++
	number := u.rounds
	if commits != u.shipped && u.since.IsZero() {
		u.since = began
	}
	u.mu.Unlock()
	shipped := u.beforeUpload()
	err := u.upload(ctx)
	if err == nil {
		shipped()
	}
	u.mu.Lock()
	u.err = err
	if err == nil {
		u.done, u.shipped, u.since = number, commits, time.Time{}
		if u.commits() != commits {
			u.since = began
		}
	}
	close(u.changed)
	u.changed = make(chan struct{})
	u.mu.Unlock()
	u.finished(err)
	return err
}

func (u *uploader) upload(ctx context.Context) error {
	if err := u.sync(ctx); err != nil {
		return fmt.Errorf("reading the log of %s: %w", u.client.folder, err)
	}
	u.client.opening.Store(false)
	if err := u.db.Replica.Sync(ctx); err != nil {
		return fmt.Errorf("sending %s: %w", u.client.folder, err)
	}
	return u.uploaded(ctx, u.db.Replica.Pos().TXID)
}

// replicateAll replicates until the store has everything or ctx ends.
func (u *uploader) replicateAll(ctx context.Context) error {
	for {
		err := u.replicate(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryInterval):
		}
	}
}

// missing returns how many commits the store does not have. Those of other processes, which nobody counts, are at least one.
func (u *uploader) missing() uint64 {
	_, commits := u.lag()
	if at, err := u.db.Pos(); commits == 0 && (err != nil || at.TXID > u.client.sent()) {
		return 1
	}
	return commits
}

// wait waits until the store has all that this process had committed when it was called. The error is ErrUnreplicated where ctx
// ends first.
func (u *uploader) wait(ctx context.Context) error {
	u.mu.Lock()
	if u.done > 0 && u.shipped == u.commits() {
		u.mu.Unlock()
		return nil
	}
	u.mu.Unlock()
	return u.flush(ctx)
}

// requestUpload begins a round soon if there is something to send, and waits for nothing.
func (u *uploader) requestUpload() {
	u.mu.Lock()
	pending := u.shipped != u.commits()
	u.mu.Unlock()
	if !pending {
		return
	}
	select {
	case u.kick <- struct{}{}:
	default:
	}
}

// flush is wait for what other processes have committed as well.
func (u *uploader) flush(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for want := u.rounds + 1; u.done < want; {
		changed, last := u.changed, u.err
		u.mu.Unlock()
		select {
		case u.kick <- struct{}{}:
		default:
		}
		select {
		case <-changed:
			u.mu.Lock()
		case <-ctx.Done():
			u.mu.Lock()
			return errors.Join(ErrUnreplicated, last)
		}
	}
	return nil
}
