package imports

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/loop"
	"contactbase/internal/sqlite"
)

const (
	// poll is how often an importer looks for what another process has begun, or has left undone.
	poll = 10 * time.Second

	// idle is after how long without a step nobody is taken to work on an import.
	idle = 2 * time.Second
)

// NewImporter returns the loop that checks and applies imports in the background, all of them in turn. Wake it when there is one.
func NewImporter(app core.App) *loop.Loop {
	return loop.New(poll, func(ctx context.Context) {
		if err := Work(ctx, app); err != nil && ctx.Err() == nil {
			app.Logger().Error("importing contacts; it is tried again", "error", err)
		}
	})
}

// Work checks and applies imports until there is nothing to do, or ctx ends. They take turns. One that another process works on is left to
// it, and one that fails holds up no other.
func Work(ctx context.Context, app core.App) error {
	w, left := newWorker(app), map[string]bool{}
	defer w.close()
	var failed error
	for {
		waiting, err := busy(app)
		waiting = slices.DeleteFunc(waiting, func(i *Import) bool { return left[i.ID] })
		if err != nil || len(waiting) == 0 {
			return errors.Join(failed, err)
		}
		for _, i := range waiting {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := w.turn(i)
			left[i.ID] = err != nil
			if err != nil && !errors.Is(err, errMoved) {
				failed = errors.Join(failed, err)
			}
		}
	}
}

// WorkOn checks or applies one import until that is done, or ctx ends. While somebody else works on it, it waits for them.
func WorkOn(ctx context.Context, app core.App, id string) error {
	w := newWorker(app)
	defer w.close()
	for {
		waiting, err := busy(app)
		place := slices.IndexFunc(waiting, func(i *Import) bool { return i.ID == id })
		if err = errors.Join(err, ctx.Err()); err != nil || place < 0 {
			return err
		}
		err = w.turn(waiting[place])
		if errors.Is(err, errMoved) {
			err = waiting[place].leave(ctx, app)
		}
		if err != nil {
			return err
		}
	}
}

// leave waits while somebody else moves the import.
func (i *Import) leave(ctx context.Context, app core.App) error {
	for position := -1; ; {
		present, err := Find(app, i.ID)
		if err != nil || present.Status != i.Status || present.Position == position {
			return err
		}
		position = present.Position
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idle):
		}
	}
}

// worker works on imports, in turns.
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
	if err := d.scratch.close(); err != nil {
		w.app.Logger().Warn("deleting the database of a dry run; the next start deletes it", "error", err)
	}
}

// turn checks or applies rows of an import that are stored together. A check that was interrupted begins again with the first row.
func (w *worker) turn(i *Import) error {
	d := w.dryRuns[i.ID]
	if d != nil && !d.isOf(i) {
		w.end(i.ID)
		d = nil
	}
	if i.Status != Checking {
		return i.apply(w.app, w.chunks)
	}
	if d == nil {
		var err error
		if d, err = i.dryRun(w.app); err != nil {
			return err
		}
		w.dryRuns[i.ID] = d
	}
	status, err := d.next()
	if err != nil || status == Checked {
		w.end(i.ID)
	}
	return err
}
