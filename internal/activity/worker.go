package activity

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/loop"
)

// writeInterval is how often counts are stored.
const writeInterval = 5 * time.Second

// Worker counts events and attempts, and stores the calls of a counter, in the background.
type Worker struct {
	*loop.Loop
	app   core.App
	calls *CallCounter
}

// NewWorker returns a worker that does nothing before Start.
func NewWorker(app core.App, calls *CallCounter) *Worker {
	w := &Worker{app: app, calls: calls}
	w.Loop = loop.New(writeInterval, w.writeOrLog)
	return w
}

// Stop ends the worker, and stores the calls that are left.
func (w *Worker) Stop() {
	if w.Loop.Stop() {
		w.writeOrLog(context.Background())
	}
}

// writeOrLog only logs errors, because only charts depend on the counts.
func (w *Worker) writeOrLog(ctx context.Context) {
	if err := w.Write(ctx); err != nil && ctx.Err() == nil {
		w.app.Logger().Error("cannot store counts for the dashboard's charts", "error", err)
	}
}

// Write counts and stores everything up to now.
func (w *Worker) Write(ctx context.Context) error {
	err := w.calls.Write(ctx, w.app)
	for more := true; more && err == nil && ctx.Err() == nil; {
		more, err = Count(w.app)
	}
	return err
}
