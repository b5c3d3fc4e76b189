package contact

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

const (
	indexPause = 250 * time.Millisecond // between two runs, so that rows gather
	indexPoll  = 10 * time.Second       // for what another process wrote
)

// Indexer keeps the index of trigrams up behind the writes.
type Indexer struct {
	app    core.App
	pace   sqlite.Pace
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

// NewIndexer returns an indexer that does nothing before Start.
func NewIndexer(app core.App) *Indexer {
	return &Indexer{app: app, wake: make(chan struct{}, 1)}
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

// run indexes until nothing is left.
func (x *Indexer) run(ctx context.Context) {
	if err := x.pace.InSteps(ctx, x.app, IndexPending); err != nil && ctx.Err() == nil {
		x.app.Logger().Error("indexing contacts for the search", "error", err)
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
