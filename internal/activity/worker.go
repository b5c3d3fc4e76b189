package activity

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/loop"
)

// writePause is how long what happens waits to be written down.
const writePause = 5 * time.Second

// Worker counts events and attempts, and writes down the calls of a counter, in the background.
type Worker struct {
	*loop.Loop
	app   core.App
	calls *CallCounter
}

// NewWorker returns a worker that does nothing before Start.
func NewWorker(app core.App, calls *CallCounter) *Worker {
	w := &Worker{app: app, calls: calls}
	w.Loop = loop.New(writePause, w.try)
	return w
}

// Stop ends the worker, and writes down the calls that are left.
func (w *Worker) Stop() {
	if w.Loop.Stop() {
		w.try(context.Background())
	}
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
