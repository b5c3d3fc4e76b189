package search

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/loop"
	"contactbase/internal/sqlite"
)

const (
	mergeAfter  = 16               // chunks of indexing, each of which leaves a segment; FTS5 merges that many at a time
	mergeChunks = 16               // at most, before indexing continues
	indexPause  = time.Second      // between two runs, so that rows gather
	indexPoll   = 10 * time.Second // for rows that another process wrote
)

// indexer updates the trigram index in the background.
type indexer struct {
	app      core.App
	refold   sqlite.Chunk // of rows that an earlier version has folded; nil once there are none left
	chunks   *sqlite.Chunks
	unmerged int // chunks of indexing since nothing was left to merge
}

func newIndexer(app core.App, refold sqlite.Chunk) *indexer {
	return &indexer{app: app, refold: refold, chunks: sqlite.Throttled(), unmerged: mergeAfter}
}

// NewIndexer returns the loop that updates the trigram index in the background, after what refold writes in chunks.
// Wake it when contacts have changed.
func NewIndexer(app core.App, refold sqlite.Chunk) *loop.Loop {
	x := newIndexer(app, refold)
	return loop.New(indexPoll, func(ctx context.Context) {
		x.run(ctx)
		pause(ctx, indexPause)
	})
}

// run indexes until nothing is left, and merges segments in between, because a search reads every segment of the index.
func (x *indexer) run(ctx context.Context) {
	if x.refold != nil {
		if err := x.chunks.Run(ctx, x.app, x.refold); err != nil {
			if ctx.Err() == nil {
				x.app.Logger().Error("folding contacts for the search failed", "error", err)
			}
			return
		}
		x.refold = nil
	}
	for more := true; more && ctx.Err() == nil; {
		indexed, err := x.chunks.NextFor("", x.app, IndexPending)
		x.unmerged++
		unmerged := x.unmerged >= mergeAfter
		for chunk := 0; chunk < mergeChunks && unmerged && err == nil && ctx.Err() == nil; chunk++ {
			began := time.Now()
			err = x.app.RunInTransaction(func(tx core.App) (err error) {
				unmerged, err = merge(tx)
				return err
			})
			pause(ctx, time.Since(began)) // so that others can write
			if !unmerged {
				x.unmerged = 0
			}
		}
		if err != nil {
			x.app.Logger().Error("indexing contacts for the search failed", "error", err)
			return
		}
		more = indexed || unmerged
	}
}

func pause(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
