package imports

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// WorkBy is Work with turns of another length.
func WorkBy(ctx context.Context, app core.App, maxTurn time.Duration) error {
	return work(ctx, app, maxTurn)
}

// ErrMoved means that somebody else continues the import, or has ended it.
var ErrMoved = errMoved

// Turns returns the imports that have turns, one after another, while a tenant, "" for none, has a turn that does not
// end.
func Turns(waiting map[string][]string, turns int, running string) (ids []string) {
	w := &worker{lines: map[string]*line{running: {running: true}}}
	for range turns {
		l, id := w.next(waiting)
		l.running = false
		ids = append(ids, id)
	}
	return ids
}

// CheckMeanwhile checks the first rows of an import, and calls do before it stores the result.
func CheckMeanwhile(app core.App, id string, do func()) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	d, err := i.dryRun(app)
	if err != nil {
		return err
	}
	status, err := d.count(context.Background())
	if err == nil {
		do()
		err = d.store(status)
	}
	return err
}

// CheckRemembering checks an import, remembering that many contacts.
func CheckRemembering(app core.App, id string, contacts int) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	d, err := i.dryRun(app)
	if err != nil {
		return err
	}
	d.run.Max = contacts
	for status := Checking; status == Checking && err == nil; {
		status, err = d.next(context.Background())
	}
	return err
}

// MaxChecks is how many tenants have a check under way.
const MaxChecks = maxChecks

// PruneSQL returns the statements that find and delete what is not needed any more.
func PruneSQL() (statements []string) {
	for _, u := range unneeded {
		statements = append(statements, findSQL(u.table, u.condition), pruneSQL(u.table, u.condition))
	}
	return statements
}

// EraseSQL are the statements that delete what imports have about deleted contacts.
var EraseSQL = eraseSQL

// UndoSome continues an undo until ctx ends.
func UndoSome(ctx context.Context, app core.App, id string) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	return i.undo(ctx, app, sqlite.Throttled())
}

// UndoSomeMeanwhile continues an undo that somebody else has continued since it was read.
func UndoSomeMeanwhile(app core.App, id string) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := UndoSome(ended, app, id); err != nil {
		return err
	}
	return i.undo(ended, app, sqlite.Throttled())
}
