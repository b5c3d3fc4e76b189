package relation

import (
	"errors"
	"fmt"
	"slices"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// maxMoved is how many records Move saves at most: all other writers wait for them.
const maxMoved = 1_000

// Move changes the records of admins that have a relation to one of the records from, so that they have one to the record to instead, in the
// caller's transaction. prepare is called with each record before it is saved. A relation never contains an id twice, and to itself never relates to
// itself. The error is a fault with the code InUse,
// which names the relation, if a record cannot be saved, or if there are more than a thousand.
func Move(tx core.App, target *core.Collection, from []string, to string, prepare func(*core.Record)) error {
	references, err := referencesTo(tx, target)
	if err != nil {
		return err
	}
	moved := 0
	for _, r := range references {
		records, err := r.records(tx, from, maxMoved+1-moved)
		if err != nil {
			return err
		}
		if moved += len(records); moved > maxMoved {
			return fault.New(fault.InUse, fmt.Sprintf("More than %d records are related to these contacts, such as those of the collection %s. Name fewer contacts, or change the relations first.",
				maxMoved, r.collection.Name))
		}
		for _, record := range records {
			prepare(record)
			if err := r.move(tx, record, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r reference) move(tx core.App, record *core.Record, from []string, to string) error {
	ids := record.GetStringSlice(r.field.Name)
	for i, id := range ids {
		if slices.Contains(from, id) {
			ids[i] = to
		}
	}
	if record.Id == to {
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == to })
	}
	record.Set(r.field.Name, ids) // which removes repetitions
	err := tx.Save(record)
	var invalid validation.Errors
	if errors.As(err, &invalid) {
		return fault.New(fault.InUse, fmt.Sprintf("The relation %s of the collection %s cannot lead to the remaining contact. Change or delete the record %s first: %v", r.field.Name, r.collection.Name, record.Id, invalid))
	}
	if err != nil {
		return fmt.Errorf("moving the relation %s of the record %s of %s: %w", r.field.Name, record.Id, r.collection.Name, err)
	}
	return nil
}
