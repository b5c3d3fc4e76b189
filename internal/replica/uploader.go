package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
)

// retryInterval is the pause between a failed upload and the next attempt.
const retryInterval = 100 * time.Millisecond

// uploader replicates one database to the store.
type uploader struct {
	db           *litestream.DB
	client       *client
	commits      func() uint64                         // counts the commits of this process to the database
	beforeUpload func() func()                         // called before each upload; the result is called if the upload succeeds
	uploaded     func(context.Context, ltx.TXID) error // called during each upload, once the store has everything up to a transaction
	finished     func(error)                           // called after each upload

	trigger chan struct{} // has a value when someone waits for an upload
	syncing sync.Mutex    // serializes Litestream's reads of the WAL; locked before the writer
	wal     *groupedWAL   // of data.db; nil for auxiliary.db

	mu        sync.Mutex
	started   uint64        // number of uploads that were started
	succeeded uint64        // number of the last upload that succeeded; 0 if none has
	committed uint64        // value of commits when that upload started
	since     time.Time     // lower bound of the time of the oldest commit that the store lacks; zero if it lacks none
	err       error         // of the last upload
	changed   chan struct{} // closed when an upload ends
}

// newUploader returns an uploader that counts no commits and calls nobody.
func newUploader(path, metaPath string, to *client) *uploader {
	db := litestream.NewDB(path)
	db.SetMetaPath(metaPath)
	db.MonitorInterval = 0            // run starts the uploads
	db.BusyTimeout = 10 * time.Second // as for every other connection
	db.Replica = litestream.NewReplicaWithClient(db, to)
	db.Replica.MonitorEnabled = false
	to.opening.Store(true)
	return &uploader{
		db: db, client: to, trigger: make(chan struct{}, 1), changed: make(chan struct{}),
		commits:      func() uint64 { return 0 },
		beforeUpload: func() func() { return func() {} },
		uploaded:     func(context.Context, ltx.TXID) error { return nil },
		finished:     func(error) {},
	}
}

// run uploads after each interval, and when someone waits for it, until ctx ends.
func (u *uploader) run(ctx context.Context, interval time.Duration) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		case <-u.trigger:
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

// replicate uploads everything that was committed before the call.
func (u *uploader) replicate(ctx context.Context) error {
	began := time.Now()
	commits := u.commits()
	u.mu.Lock()
	u.started++
	number := u.started
	if commits != u.committed && u.since.IsZero() {
		u.since = began
	}
	u.mu.Unlock()
	replicated := u.beforeUpload()
	err := u.upload(ctx)
	if err == nil {
		replicated()
	}
	u.mu.Lock()
	u.err = err
	if err == nil {
		u.succeeded, u.committed, u.since = number, commits, time.Time{}
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
		return fmt.Errorf("reading the WAL of %s: %w", u.client.folder, err)
	}
	u.client.opening.Store(false)
	if err := u.db.Replica.Sync(ctx); err != nil {
		return fmt.Errorf("uploading %s: %w", u.client.folder, err)
	}
	return u.uploaded(ctx, u.db.Replica.Pos().TXID)
}

// sync makes Litestream read the new part of the WAL. It ignores the end of ctx: once Litestream's read transaction is gone, others could
// reset the WAL before it was read.
func (u *uploader) sync(ctx context.Context) error {
	u.syncing.Lock()
	defer u.syncing.Unlock()
	return u.db.Sync(context.WithoutCancel(ctx))
}

// replicateAll repeats replicate until it succeeds or ctx ends.
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

// wait returns once the store has everything that this process had committed at the call. If ctx ends first, the error is
// ErrUnreplicated.
func (u *uploader) wait(ctx context.Context) error {
	u.mu.Lock()
	done := u.succeeded > 0 && u.committed == u.commits()
	u.mu.Unlock()
	if done {
		return nil
	}
	return u.flush(ctx)
}

// flush is wait for the commits of all processes: it waits for an upload that starts after the call.
func (u *uploader) flush(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for want := u.started + 1; u.succeeded < want; {
		changed, last := u.changed, u.err
		u.mu.Unlock()
		u.triggerUpload()
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

// triggerUpload makes run start an upload soon, and does not wait for it.
func (u *uploader) triggerUpload() {
	select {
	case u.trigger <- struct{}{}:
	default:
	}
}

// lag returns for how long the store has lacked the oldest commit, and how many commits it lacks.
func (u *uploader) lag() (since time.Duration, commits uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	commits = u.commits() - u.committed
	if u.since.IsZero() {
		return 0, commits
	}
	return time.Since(u.since), commits
}

// missing returns how many commits the store lacks. Commits of other processes are not counted; if there are only such, it returns 1.
func (u *uploader) missing() uint64 {
	_, commits := u.lag()
	if at, err := u.db.Pos(); commits == 0 && (err != nil || at.TXID > u.client.sent()) {
		return 1
	}
	return commits
}

// pendingBytes returns the size of the files that are not uploaded yet.
func (u *uploader) pendingBytes() (size int64) {
	sent := u.db.Replica.Pos().TXID
	entries, err := os.ReadDir(u.db.LTXLevelDir(0))
	if err != nil {
		return 0 // there are no files yet
	}
	for _, entry := range entries {
		_, last, err := ltx.ParseFilename(entry.Name())
		if err != nil || last <= sent {
			continue
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}
