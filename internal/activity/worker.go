package activity

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// writePause is how long what happens waits to be written down.
const writePause = 5 * time.Second

// Worker counts events and attempts, and writes down the calls of a counter, in the background.
type Worker struct {
	app    core.App
	calls  *CallCounter
	cancel context.CancelFunc
	done   chan struct{}
}

// NewWorker returns a worker that does nothing before Start.
func NewWorker(app core.App, calls *CallCounter) *Worker { return &Worker{app: app, calls: calls} }

// Start runs the worker in the background.
func (w *Worker) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.done = cancel, make(chan struct{})
	go func() {
		defer close(w.done)
		ticker := time.NewTicker(writePause)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				w.try(ctx)
			}
		}
	}()
}

// Stop ends the worker, and writes down the calls that are left.
func (w *Worker) Stop() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	<-w.done
	w.try(context.Background())
}

// try logs what fails, and no more: charts are drawn of it.
func (w *Worker) try(ctx context.Context) {
	if err := w.Write(ctx); err != nil && ctx.Err() == nil {
		w.app.Logger().Error("counting what happens", "error", err)
	}
}

// Write does what there is to do by now.
func (w *Worker) Write(ctx context.Context) error {
	err := w.calls.Write(ctx, w.app)
	for more := true; more && err == nil && ctx.Err() == nil; {
		more, err = Count(w.app)
	}
	return err
}
