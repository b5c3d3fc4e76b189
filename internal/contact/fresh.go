package contact

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
)

// withSchema does what depends on the fields of a contact, see custom.WithCollection.
func withSchema(app core.App, do func(*schema) error) error {
	return custom.WithCollection(app, CollectionName, func(collection *core.Collection) error { return do(newSchema(collection)) })
}
