package search

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

const (
	mergeAfter = 16               // chunks of indexing, each of which leaves a segment: FTS5 merges so many at a time
	mergeChunks = 16               // at most, before indexing goes on
	indexPause = time.Second      // between two runs, so that rows gather
	indexPoll  = 10 * time.Second // for what another process wrote
)

// Indexer keeps the index of trigrams up behind the writes.
type Indexer struct {
	app    core.App
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}

	chunks   *sqlite.Chunks
	unmerged int // chunks of indexing since nothing was left to merge
}

// NewIndexer returns an indexer that does nothing before Start.
func NewIndexer(app core.App) *Indexer {
	return &Indexer{app: app, wake: make(chan struct{}, 1), chunks: sqlite.Throttled(), unmerged: mergeAfter}
}

// Wake tells the indexer that contacts have changed. It never blocks.
func (x *Indexer) Wake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Start runs the indexer in the background.
func (x *Indexer) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel, x.done = cancel, make(chan struct{})
	go func() {
		defer close(x.done)
		for ctx.Err() == nil {
			x.run(ctx)
			pause(ctx, indexPause, nil)
			pause(ctx, indexPoll, x.wake)
		}
	}()
}

// Stop ends the indexer and waits for the transaction that it is in.
func (x *Indexer) Stop() {
	if x.cancel == nil {
		return
	}
	x.cancel()
	<-x.done
}

// run indexes until nothing is left, and merges what that leaves in between: a search asks every segment of the index.
func (x *Indexer) run(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		indexed, err := x.chunks.Next(x.app, IndexPending)
		x.unmerged++
		unmerged := x.unmerged >= mergeAfter
		for chunk := 0; chunk < mergeChunks && unmerged && err == nil && ctx.Err() == nil; chunk++ {
			began := time.Now()
			err = x.app.RunInTransaction(func(tx core.App) (err error) {
				unmerged, err = merge(tx)
				return err
			})
			pause(ctx, time.Since(began), nil) // for whoever waited
			if !unmerged {
				x.unmerged = 0
			}
		}
		if err != nil {
			x.app.Logger().Error("indexing contacts for the search", "error", err)
			return
		}
		more = indexed || unmerged
	}
}

func pause(ctx context.Context, length time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}
