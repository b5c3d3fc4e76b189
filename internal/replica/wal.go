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

// takeOverCheckpoints has the app's writer leave the log of its database to this shipper, which has that database.
func (s *shipper) takeOverCheckpoints(app core.App) {
	s.wal = &groupedWAL{app, sqlite.HandOverCheckpoints(app)}
	if s.wal.due != nil {
		s.db.MinCheckpointPageN, s.db.CheckpointInterval = math.MaxInt32, 0 // by checkpointWAL alone
	}
}

// checkpointWAL has Litestream move the log into the database whenever that has become long, whatever an upload takes meanwhile.
// Litestream keeps everybody else from doing so, and would itself wait for the writer like another process, whose turn comes
// seldom where many write.
func (s *shipper) checkpointWAL(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wal.due:
		}
		if s.client.opening.Load() {
			continue // the next commit asks again
		}
		_ = s.syncExclusively(ctx, func(ctx context.Context) error { // a round meets what fails as well, and tells
			return s.db.Checkpoint(ctx, litestream.CheckpointModePassive)
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkpointInterval):
		}
	}
}

// syncExclusively is sync, and then calls do while nobody writes. They wait for that only, and for what was written during the read.
func (s *shipper) syncExclusively(ctx context.Context, do func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if err := s.db.Sync(ctx); err != nil {
		return err
	}
	return sqlite.Exclusive(ctx, s.wal.app, func() error { return do(ctx) })
}
