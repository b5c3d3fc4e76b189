package replica

import (
	"context"
	"math"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// checkpointInterval is how long the log is left alone after it was moved: where somebody reads it for longer, it could not begin anew.
const checkpointInterval = 100 * time.Millisecond

// groupedWAL is the log of the database whose writers share their commits.
type groupedWAL struct {
	app core.App
	due <-chan struct{} // has a value when the log is to be moved into the database; nil where Litestream does so by itself
}

// takeOverCheckpoints has the app's writer leave the log of its database to this uploader, which has that database.
func (u *uploader) takeOverCheckpoints(app core.App) {
	u.wal = &groupedWAL{app, sqlite.HandOverCheckpoints(app)}
	if u.wal.due != nil {
		u.db.MinCheckpointPageN, u.db.CheckpointInterval = math.MaxInt32, 0 // by checkpointWAL alone
	}
}

// checkpointWAL has Litestream move the log into the database whenever that has become long, whatever an upload takes meanwhile.
// Litestream keeps everybody else from doing so, and would itself wait for the writer like another process, whose turn comes
// seldom where many write.
func (u *uploader) checkpointWAL(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.wal.due:
		}
		if u.client.opening.Load() {
			continue // the next commit asks again
		}
		_ = u.syncExclusively(ctx, func(ctx context.Context) error { // a round meets what fails as well, and tells
			return u.db.Checkpoint(ctx, litestream.CheckpointModePassive)
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkpointInterval):
		}
	}
}

// syncExclusively is sync, and then calls do while nobody writes. They wait for that only, and for what was written during the read.
func (u *uploader) syncExclusively(ctx context.Context, do func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	u.syncing.Lock()
	defer u.syncing.Unlock()
	if err := u.db.Sync(ctx); err != nil {
		return err
	}
	return sqlite.Exclusive(ctx, u.wal.app, func() error { return do(ctx) })
}
