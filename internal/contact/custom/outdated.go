package custom

import (
	"errors"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// RetryOutdated calls do. If do meets an outdated collection, RetryOutdated calls it again with an app that reads
// collections from the database. PocketBase keeps collections in memory: in the process that changes one, it is new
// before the change is committed, and in another process it is outdated for a tenth of a second. Those in memory stay
// as they are, so that an old one never replaces a new one.
func RetryOutdated(app core.App, do func(core.App) error) error {
	err := do(app)
	if MayBeOutdated(app, err) {
		err = do(uncachedApp{app})
	}
	return err
}

// uncachedApp is an app, in transactions as well, that reads collections from the database.
type uncachedApp struct{ core.App }

// Unwrap returns the app that reads from its cache: see audit.Acting.
func (a uncachedApp) Unwrap() core.App { return a.App }

func (a uncachedApp) FindCachedCollectionByNameOrId(nameOrID string) (*core.Collection, error) {
	return a.FindCollectionByNameOrId(nameOrID)
}

func (a uncachedApp) RunInTransaction(fn func(core.App) error) error {
	return a.App.RunInTransaction(func(tx core.App) error { return fn(uncachedApp{tx}) })
}

// MayBeOutdated reports whether an error may come from an outdated collection of the app.
func MayBeOutdated(app core.App, err error) bool {
	if _, uncached := app.(uncachedApp); uncached || err == nil {
		return false
	}
	var wrong *fault.Error
	var faults fault.Fields
	if errors.As(err, &wrong) {
		faults = wrong.Fields
	} else if !errors.As(err, &faults) {
		text := err.Error() // SQLite has the same code for these as for any other error in a statement
		return strings.Contains(text, "no such column") ||
			strings.Contains(text, "has no column named") || strings.Contains(text, "no such table")
	}
	for _, wrong := range faults {
		if wrong.Code == fault.CodeUnknownField {
			return true
		}
	}
	return false
}
