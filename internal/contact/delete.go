package contact

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/relation"
)

// batchField is where a record that a batch deletes keeps the batch. No field's name starts with @.
const batchField = "@batch"

// mergedIntoField is where a record that is deleted keeps the id of the contact that it is merged into.
const mergedIntoField = "@mergedInto"

// remove deletes a contact as a part of the batch.
func (b *Batch) remove(id string) error {
	var record *core.Record
	err := withSchema(b.app, func(s *schema) (err error) {
		record, err = findRecord(b.app, s.collection, b.tenantID, id)
		return err
	})
	if err != nil {
		return err
	}
	record.SetRaw(batchField, b)
	return removeRecord(b.app, record)
}

func removeRecord(tx core.App, record *core.Record) error {
	if err := relation.Refusal(tx.Delete(record)); err != nil {
		return fmt.Errorf("deleting the contact %s: %w", record.Id, err)
	}
	return nil
}

// isRelated reports whether an admin has added a relation to contacts.
func isRelated(app core.App) (bool, error) {
	collection, err := app.FindCachedCollectionByNameOrId(CollectionName)
	if err != nil {
		return false, err
	}
	return relation.Exists(app, collection)
}

// noted returns what a record that is deleted keeps in one of these fields, "" for nothing.
func noted(record *core.Record, field string) string {
	value, _ := record.GetRaw(field).(string)
	return value
}
