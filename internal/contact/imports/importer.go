package imports

import (
	"context"
	"errors"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// poll is how often an Importer looks for what another process has begun.
const poll = 10 * time.Second

// Importer checks and applies imports in the background, all of them in turn.
type Importer struct {
	app    core.App
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

// NewImporter returns an importer that does nothing before Start.
func NewImporter(app core.App) *Importer {
	return &Importer{app: app, wake: make(chan struct{}, 1)}
}

// Wake tells the importer that an import is to be worked on. It never blocks.
func (r *Importer) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Start runs the importer in the background.
func (r *Importer) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, make(chan struct{})
	go func() {
		defer close(r.done)
		ticker := time.NewTicker(poll)
		defer ticker.Stop()
		for {
			if err := Work(ctx, r.app); err != nil && ctx.Err() == nil {
				r.app.Logger().Error("importing contacts; it is tried again", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-r.wake:
			case <-ticker.C:
			}
		}
	}()
}

// Stop ends the importer and waits for the step that it is in.
func (r *Importer) Stop() {
	if r.cancel == nil {
		return
	}
	r.cancel()
	<-r.done
}

// Work checks and applies imports until there is nothing to do, or ctx ends. Each gets a turn after the other.
func Work(ctx context.Context, app core.App) error {
	pace := &sqlite.Pace{}
	for {
		waiting, err := busy(app)
		if err != nil || len(waiting) == 0 {
			return err
		}
		for _, i := range waiting {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := i.work(ctx, app, pace); err != nil && !errors.Is(err, errMoved) {
				return err
			}
		}
	}
}

func (i *Import) work(ctx context.Context, app core.App, pace *sqlite.Pace) error {
	if i.Status == Checking {
		return i.check(ctx, app)
	}
	return i.apply(app, pace)
}
