package imports

import (
	"context"

	"github.com/pocketbase/pocketbase/core"
)

// ErrMoved means that somebody else continues the import, or has ended it.
var ErrMoved = errMoved

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
	if closeErr := d.run.Close(); closeErr != nil {
		return closeErr
	}
	return err
}

// PruneSQL are the statements that delete what is not needed any more.
var PruneSQL = pruneSQL

// EraseSQL deletes notes about deleted contacts.
const EraseSQL = eraseSQL
