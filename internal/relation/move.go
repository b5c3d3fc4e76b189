package relation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// maxMoved is how many records Move saves at most: all other writers wait for them.
const maxMoved = 1_000

// Move changes the records of admins that have a relation to one of the records from, so that they have one to the
// record to instead, in the caller's transaction. A relation never contains an id twice, and to itself never relates
// to itself. Of the records from and to, only these relations change, without hooks: the caller deletes or saves
// them. The others are saved with save. The error is a fault with the code InUse, which names the relation, if a record
// is then invalid, or if there are more than a thousand.
func Move(
	tx core.App, target *core.Collection, from []string, to string, save func(record *core.Record) error,
) error {
	moved, err := movedRecords(tx, target, from, to)
	if err != nil {
		return err
	}
	for _, m := range moved {
		if m.record.Collection().Id != target.Id || m.record.Id != to && !slices.Contains(from, m.record.Id) {
			if err := m.refusal(save(m.record)); err != nil {
				return err
			}
			continue
		}
		columns := dbx.Params{}
		for _, field := range m.fields {
			if columns[field.Name], err = field.DriverValue(m.record); err != nil {
				return err
			}
		}
		if _, err := tx.DB().Update(target.Name, columns, dbx.HashExp{"id": m.record.Id}).Execute(); err != nil {
			return fmt.Errorf("moving relations of the record %s of %s: %w", m.record.Id, target.Name, err)
		}
	}
	return nil
}

// CheckMove returns the error of Move, as far as it is known before anything is saved.
func CheckMove(app core.App, target *core.Collection, from []string, to string) error {
	moved, err := movedRecords(app, target, from, to)
	if err != nil {
		return err
	}
	for _, m := range moved {
		if m.record.Collection().Id == target.Id && (m.record.Id == to || slices.Contains(from, m.record.Id)) {
			continue
		}
		if err := m.refusal(app.Validate(m.record)); err != nil {
			return err
		}
	}
	return nil
}

// movedRecord is a record whose relations lead to another record, and not yet saved.
type movedRecord struct {
	record *core.Record
	fields []*core.RelationField // that changed
}

// movedRecords returns the records that Move saves, with their new relations, ordered by their collections.
func movedRecords(app core.App, target *core.Collection, from []string, to string) (moved []*movedRecord, err error) {
	references, err := referencesTo(app, target)
	if err != nil {
		return nil, err
	}
	for _, r := range references {
		records, err := r.records(app, from, maxMoved+1)
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			at := slices.IndexFunc(moved, func(m *movedRecord) bool {
				return m.record.Id == record.Id && m.record.Collection().Id == r.collection.Id
			})
			if at < 0 {
				at, moved = len(moved), append(moved, &movedRecord{record: record})
			}
			r.redirect(moved[at].record, from, to)
			moved[at].fields = append(moved[at].fields, r.field)
		}
		if len(moved) > maxMoved {
			return nil, fault.New(fault.InUse, fmt.Sprintf("More than %d records are related to these contacts, "+
				"such as those of the collection %s. Name fewer contacts, or change the relations first.",
				maxMoved, r.collection.Name))
		}
	}
	return moved, nil
}

// redirect sets the relation of a record.
func (r reference) redirect(record *core.Record, from []string, to string) {
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
}

// refusal returns the error of saving the record.
func (m *movedRecord) refusal(err error) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	names := make([]string, len(m.fields))
	for i, field := range m.fields {
		names[i] = field.Name
	}
	name, collection := strings.Join(names, ", "), m.record.Collection().Name
	var invalid validation.Errors
	if errors.As(err, &invalid) {
		return fault.New(fault.InUse, fmt.Sprintf("The relation %s of the collection %s cannot lead to the "+
			"remaining contact. Change or delete the record %s first: %v", name, collection, m.record.Id, invalid))
	}
	return fmt.Errorf("moving the relation %s of the record %s of %s: %w", name, m.record.Id, collection, err)
}
