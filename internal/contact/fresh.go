package contact

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
)

// withSchema calls do with the schema of contacts, as custom.WithCollection does.
func withSchema(app core.App, do func(*schema) error) error {
	return custom.WithCollection(app, CollectionName, func(collection *core.Collection, _ custom.Find) error {
		return do(schemaOf(collection))
	})
}

// withTx calls do with a Tx that lacks only its reader, as custom.WithCollection does.
func withTx(app core.App, do func(Tx) error) error {
	return custom.WithCollection(app, CollectionName, func(collection *core.Collection, find custom.Find) (err error) {
		tx := Tx{schema: schemaOf(collection)}
		if tx.targets, err = custom.Targets(tx.schema.custom, find); err != nil {
			return err
		}
		return do(tx)
	})
}
