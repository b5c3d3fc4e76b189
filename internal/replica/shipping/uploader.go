// Package shipping ships the transactions of databases to a store, and restores databases from it, with Litestream.
package shipping

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"contactbase/internal/loop"
)

// retryInterval is the pause between a failed upload and the next attempt.
const retryInterval = 100 * time.Millisecond

// ErrUnreplicated means that the store does not have a write yet. It may have it later.
var ErrUnreplicated = errors.New("the write is not in the replica yet")

// Uploader uploads the transactions of one database to the store.
type Uploader struct {
	DB      *litestream.DB
	Commits func() uint64 // counts the commits of this process to the database
	// called before each upload; the result is called if the upload succeeds
	BeforeUpload func() func()
	// called during each upload, once the store has everything up to a transaction
	Uploaded func(context.Context, ltx.TXID) error
	Finished func(error) // called after each upload

	files *Files

	trigger chan struct{} // has a value when someone waits for an upload
	syncing sync.Mutex    // serializes Litestream's reads of the WAL; locked before the writer
	wal     *sharedWAL    // of data.db; nil for auxiliary.db

	mu        sync.Mutex
	started   uint64        // number of uploads that were started
	succeeded uint64        // number of the last upload that succeeded; 0 if none has
	committed uint64        // value of Commits when that upload started
	since     time.Time     // lower bound of the time of the oldest commit that the store lacks; zero if it lacks none
	err       error         // of the last upload
	changed   chan struct{} // closed when an upload ends
}

// NewUploader returns the uploader of the database at a path, which keeps its local files in metaPath. Until they are
// set, its functions do nothing.
func NewUploader(path, metaPath string, to *Files) *Uploader {
	db := litestream.NewDB(path)
	db.SetMetaPath(metaPath)
	db.MonitorInterval = 0            // Run starts the uploads
	db.BusyTimeout = 10 * time.Second // as for every other connection
	db.Replica = litestream.NewReplicaWithClient(db, to)
	db.Replica.MonitorEnabled = false
	to.opening.Store(true)
	return &Uploader{
		DB: db, files: to, trigger: make(chan struct{}, 1), changed: make(chan struct{}),
		Commits:      func() uint64 { return 0 },
		BeforeUpload: func() func() { return func() {} },
		Uploaded:     func(context.Context, ltx.TXID) error { return nil },
		Finished:     func(error) {},
	}
}

// Run uploads after each interval, and when someone waits for it, until ctx ends.
func (u *Uploader) Run(ctx context.Context, interval time.Duration) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		case <-u.trigger:
		}
		if u.replicate(ctx) != nil && !loop.Pause(ctx, retryInterval) {
			return
		}
	}
}

// replicate uploads everything that was committed before the call.
func (u *Uploader) replicate(ctx context.Context) error {
	began := time.Now()
	commits := u.Commits()
	u.mu.Lock()
	u.started++
	number := u.started
	if commits != u.committed && u.since.IsZero() {
		u.since = began
	}
	u.mu.Unlock()
	replicated := u.BeforeUpload()
	err := u.upload(ctx)
	if err == nil {
		replicated()
	}
	u.mu.Lock()
	u.err = err
	if err == nil {
		u.succeeded, u.committed, u.since = number, commits, time.Time{}
		if u.Commits() != commits {
			u.since = began
		}
	}
	close(u.changed)
	u.changed = make(chan struct{})
	u.mu.Unlock()
	u.Finished(err)
	return err
}

func (u *Uploader) upload(ctx context.Context) error {
	if err := u.sync(ctx); err != nil {
		return fmt.Errorf("reading the WAL of %s: %w", u.files.folder, err)
	}
	u.files.opening.Store(false)
	if err := u.DB.Replica.Sync(ctx); err != nil {
		return fmt.Errorf("uploading %s: %w", u.files.folder, err)
	}
	return u.Uploaded(ctx, u.DB.Replica.Pos().TXID)
}

// sync makes Litestream read the new part of the WAL. It ignores the end of ctx: once Litestream's read transaction
// is gone, others could reset the WAL before it was read.
func (u *Uploader) sync(ctx context.Context) error {
	u.syncing.Lock()
	defer u.syncing.Unlock()
	return u.DB.Sync(context.WithoutCancel(ctx))
}

// ReplicateAll repeats the upload until it succeeds or ctx ends.
func (u *Uploader) ReplicateAll(ctx context.Context) error {
	for {
		err := u.replicate(ctx)
		if err == nil {
			return nil
		}
		if !loop.Pause(ctx, retryInterval) {
			return err
		}
	}
}

// Wait returns once the store has everything that this process had committed at the call. If ctx ends first, the
// error is ErrUnreplicated.
func (u *Uploader) Wait(ctx context.Context) error {
	u.mu.Lock()
	done := u.succeeded > 0 && u.committed == u.Commits()
	u.mu.Unlock()
	if done {
		return nil
	}
	return u.Flush(ctx)
}

// Flush is wait for the commits of all processes: it waits for an upload that starts after the call.
func (u *Uploader) Flush(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for want := u.started + 1; u.succeeded < want; {
		changed, last := u.changed, u.err
		u.mu.Unlock()
		u.Trigger()
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

// Trigger makes Run start an upload soon, and does not wait for it.
func (u *Uploader) Trigger() {
	select {
	case u.trigger <- struct{}{}:
	default:
	}
}

// Lag returns for how long the store has lacked the oldest commit, and how many commits it lacks.
func (u *Uploader) Lag() (since time.Duration, commits uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	commits = u.Commits() - u.committed
	if u.since.IsZero() {
		return 0, commits
	}
	return time.Since(u.since), commits
}

// Missing returns how many commits the store lacks. Commits of other processes are not counted; if there are only
// such, it returns 1.
func (u *Uploader) Missing() uint64 {
	_, commits := u.Lag()
	if at, err := u.DB.Pos(); commits == 0 && (err != nil || at.TXID > u.files.sent()) {
		return 1
	}
	return commits
}

// PendingBytes returns the size of the files that are not uploaded yet.
func (u *Uploader) PendingBytes() (size int64) {
	sent := u.DB.Replica.Pos().TXID
	entries, err := os.ReadDir(u.DB.LTXLevelDir(0))
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

// Quiet returns a logger that drops what Litestream logs below the level of warnings. A log entry is a write, which
// would make Litestream log again.
func Quiet(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

// warnings is a log handler that drops records below the level of warnings.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
