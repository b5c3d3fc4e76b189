package shipping

import (
	"context"
	"math"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/loop"
	"contactbase/internal/sqlite"
)

// checkpointInterval is the shortest time between two checkpoints. While a reader stays longer than that, the
// WAL cannot be reset.
const checkpointInterval = 100 * time.Millisecond

// sharedWAL is the WAL of data.db, whose writers share commits.
type sharedWAL struct {
	app core.App
	due <-chan struct{} // has a value when a checkpoint is due; nil if Litestream decides
}

// TakeOverCheckpoints makes the app's writer leave checkpoints of its database to this uploader.
func (u *Uploader) TakeOverCheckpoints(app core.App) {
	u.wal = &sharedWAL{app, sqlite.HandOverCheckpoints(app)}
	if u.wal.due != nil {
		u.DB.MinCheckpointPageN, u.DB.CheckpointInterval = math.MaxInt32, 0 // only CheckpointWAL starts them
	}
}

// CheckpointWAL checkpoints the WAL whenever that is due, even during an upload, until ctx ends. Only Litestream can
// do it, because its read transaction keeps everyone else from completing a checkpoint. By itself, Litestream would
// compete for the writer lock like another process, and would rarely get it under load.
func (u *Uploader) CheckpointWAL(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.wal.due:
		}
		if u.files.opening.Load() {
			continue // the next commit signals again
		}
		_ = u.SyncExclusively(ctx, func(ctx context.Context) error { // the next upload meets the same error, and reports it
			return u.DB.Checkpoint(ctx, litestream.CheckpointModePassive)
		})
		if !loop.Pause(ctx, checkpointInterval) {
			return
		}
	}
}

// SyncExclusively is sync, and then calls do while nobody writes. Writers wait only for do, and for reading what was
// written during the sync.
func (u *Uploader) SyncExclusively(ctx context.Context, do func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	u.syncing.Lock()
	defer u.syncing.Unlock()
	if err := u.DB.Sync(ctx); err != nil {
		return err
	}
	return sqlite.Exclusive(ctx, u.wal.app, func() error { return do(ctx) })
}
