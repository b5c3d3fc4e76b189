package contact

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/relation"
)

// causeField is where changes, and a record that is deleted, carry the event that they pass on. Names that start with @ are no fields.
const causeField = "@cause"

// Delete deletes a contact of the tenant in the caller's transaction. cause is the event of another installation that
// the deletion passes on, "" where it begins here. The error is a fault with the code InUse where a relation of the
// admin's forbids it.
func Delete(tx core.App, tenantID, id, cause string) error {
	var record *core.Record
	err := withSchema(tx, func(s *schema) (err error) {
		record, err = findRecord(tx, s.collection, tenantID, id)
		return err
	})
	if err != nil {
		return err
	}
	record.SetRaw(causeField, cause)
	if err := relation.Refusal(tx.Delete(record)); err != nil {
		return fmt.Errorf("deleting the contact %s: %w", id, err)
	}
	return nil
}

// causeOf returns the event that the deletion of a record passes on, "" where there is none.
func causeOf(record *core.Record) string {
	cause, _ := record.GetRaw(causeField).(string)
	return cause
}
