package custom

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// Find returns a collection by its name or id. The error is sql.ErrNoRows if there is none.
type Find func(nameOrID string) (*core.Collection, error)

// WithCollection calls do with a collection that PocketBase keeps in memory, and with what finds others there. After a change by another
// process these are outdated for a tenth of a second; in the process that changes one, it is new before the change is committed. If do
// then meets a missing column or table, it is called again with the collections in the database. Those in memory stay as they are, so
// that an old one never replaces a new one.
func WithCollection(app core.App, nameOrID string, do func(*core.Collection, Find) error) error {
	find := Find(app.FindCachedCollectionByNameOrId)
	collection, err := find(nameOrID)
	if err == nil {
		if err = do(collection, find); !isOutdated(err) {
			return err
		}
		find = app.FindCollectionByNameOrId
		collection, err = find(nameOrID)
	}
	if err != nil {
		return fmt.Errorf("finding the collection %q: %w", nameOrID, err)
	}
	return do(collection, find)
}

// isOutdated reports whether an error may come from an outdated collection.
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
