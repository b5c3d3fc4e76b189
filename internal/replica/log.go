package replica

import (
	"context"
	"math"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// moveInterval is how long the log is left alone after it was moved: where somebody reads it for longer, it could not begin anew.
const moveInterval = 100 * time.Millisecond

// writersLog is the log of the database whose writers share their commits.
type writersLog struct {
	app  core.App
	long <-chan struct{} // has a value when the log is to be moved into the database; nil where Litestream does so by itself
}

// takeLog has the app's writer leave the log of its database to this shipper, which has that database.
func (s *shipper) takeLog(app core.App) {
	s.log = &writersLog{app, sqlite.HandOverCheckpoints(app)}
	if s.log.long != nil {
		s.db.MinCheckpointPageN, s.db.CheckpointInterval = math.MaxInt32, 0 // by moveLog alone
	}
}

// moveLog has Litestream move the log into the database whenever that has become long, whatever an upload takes meanwhile.
// Litestream keeps everybody else from doing so, and would itself wait for the writer like another process, whose turn comes
// seldom where many write.
func (s *shipper) moveLog(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.log.long:
		}
		if s.client.opening.Load() {
			continue // the next commit asks again
		}
		_ = s.readAlone(ctx, func(ctx context.Context) error { // a round meets what fails as well, and tells
			return s.db.Checkpoint(ctx, litestream.CheckpointModePassive)
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(moveInterval):
		}
	}
}

// readAlone is read, and then calls do while nobody writes. They wait for that only, and for what was written during the read.
func (s *shipper) readAlone(ctx context.Context, do func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	s.reading.Lock()
	defer s.reading.Unlock()
	if err := s.db.Sync(ctx); err != nil {
		return err
	}
	return sqlite.Exclusive(ctx, s.log.app, func() error { return do(ctx) })
}
