package custom

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// WithCollection does what depends on a collection, with the one that PocketBase keeps in memory. Where another process
// changed the collection, that is old for a tenth of a second; and in the process that changes it, it is new before the
// change is committed. What finds no such column then is done once more with the collection that is in the database. The
// one in memory is left alone, lest an old one replaces a new one.
func WithCollection(app core.App, nameOrID string, do func(*core.Collection) error) error {
	collection, err := app.FindCachedCollectionByNameOrId(nameOrID)
	if err == nil {
		if err = do(collection); !isOutdated(err) {
			return err
		}
		collection, err = app.FindCollectionByNameOrId(nameOrID)
	}
	if err != nil {
		return fmt.Errorf("finding the collection %q: %w", nameOrID, err)
	}
	return do(collection)
}

// isOutdated reports whether an error may come from a collection that is another one by now.
func isOutdated(err error) bool {
	if err == nil {
		return false
	}
	var faults fault.Fields
	if errors.As(err, &faults) {
		for _, wrong := range faults {
			if wrong.Code == fault.CodeUnknownField {
				return true
			}
		}
		return false
	}
	text := err.Error() // SQLite has the same code for these as for any other error in a statement
	return strings.Contains(text, "no such column") || strings.Contains(text, "has no column named") || strings.Contains(text, "no such table")
}
