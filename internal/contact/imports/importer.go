package imports

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/loop"
	"contactbase/internal/sqlite"
)

const (
	// poll is how often an importer looks for imports that another process has begun, or has left unfinished.
	poll = 10 * time.Second

	// idle is the time without progress after which an import counts as abandoned.
	idle = 2 * time.Second
)

// NewImporter returns the loop that checks and applies imports in the background, by turns. Wake it when an import begins.
func NewImporter(app core.App) *loop.Loop {
	return loop.New(poll, func(ctx context.Context) {
		if err := Work(ctx, app); err != nil && ctx.Err() == nil {
			app.Logger().Error("importing contacts failed; retrying", "error", err)
		}
	})
}

// Work checks and applies imports, by turns, until there is nothing left to do, or ctx ends. It skips an import that another process works
// on. One that fails does not delay the others.
func Work(ctx context.Context, app core.App) error {
	w, skipped := newWorker(app), map[string]bool{}
	defer w.close()
	var failed error
	for {
		waiting, err := busy(app)
		waiting = slices.DeleteFunc(waiting, func(i *Import) bool { return skipped[i.ID] })
		if err != nil || len(waiting) == 0 {
			return errors.Join(failed, err)
		}
		for _, i := range waiting {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := w.turn(i)
			skipped[i.ID] = err != nil
			if err != nil && !errors.Is(err, errMoved) {
				failed = errors.Join(failed, err)
			}
		}
	}
}

// WorkOn checks or applies one import until that is done, or ctx ends. While another process works on it, WorkOn waits.
func WorkOn(ctx context.Context, app core.App, id string) error {
	w := newWorker(app)
	defer w.close()
	for {
		waiting, err := busy(app)
		at := slices.IndexFunc(waiting, func(i *Import) bool { return i.ID == id })
		if err = errors.Join(err, ctx.Err()); err != nil || at < 0 {
			return err
		}
		err = w.turn(waiting[at])
		if errors.Is(err, errMoved) {
			err = waiting[at].await(ctx, app)
		}
		if err != nil {
			return err
		}
	}
}

// await waits until nobody advances the import any more.
func (i *Import) await(ctx context.Context, app core.App) error {
	for position := -1; ; {
		current, err := Find(app, i.ID)
		if err != nil || current.Status != i.Status || current.Position == position {
			return err
		}
		position = current.Position
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idle):
		}
	}
}

// worker works on imports by turns.
type worker struct {
	app     core.App
	chunks  *sqlite.Chunks
	dryRuns map[string]*dryRun // by the id of the import
}

func newWorker(app core.App) *worker {
	return &worker{app: app, chunks: sqlite.Throttled(), dryRuns: map[string]*dryRun{}}
}

// close ends the dry runs that are not finished.
func (w *worker) close() {
	for id := range w.dryRuns {
		w.end(id)
	}
}

// end ends the dry run of an import, if any.
func (w *worker) end(id string) {
	d := w.dryRuns[id]
	if d == nil {
		return
	}
	delete(w.dryRuns, id)
	if err := d.run.Close(); err != nil {
		w.app.Logger().Warn("deleting the database of a dry run; delete its folder in the data directory, .contactbase.dry-run-…", "error", err)
	}
}

// turn checks or applies the next page of an import. A check that was interrupted begins again with the first row.
func (w *worker) turn(i *Import) error {
	return custom.RetryOutdated(w.app, func(app core.App) error { return w.turnWith(app, i) })
}

func (w *worker) turnWith(app core.App, i *Import) error {
	d := w.dryRuns[i.ID]
	if d != nil && !d.isOf(i) {
		w.end(i.ID)
		d = nil
	}
	if i.Status != Checking {
		return i.apply(app, w.chunks)
	}
	if d == nil {
		var err error
		if d, err = i.dryRun(app); err != nil {
			return err
		}
		w.dryRuns[i.ID] = d
	}
	status, err := d.next(context.Background())
	if err != nil || status == Checked {
		w.end(i.ID)
	}
	return err
}
