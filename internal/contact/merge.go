package contact

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
	"contactbase/internal/relation"
)

// MaxMerged is how many contacts can be merged into another one at once.
const MaxMerged = 50

// Merge says which contacts of a tenant become one.
type Merge struct {
	ID      string              // of the contact that remains
	From    []string            // ids of the contacts that are merged into it and deleted, different from each other and from ID
	Fields  map[string]string   // by field, the id of the contact whose value the remaining one gets
	Matches func(*Contact) bool // reports whether the remaining contact is as the caller expects; nil for any

	before map[string]*Contact // the contacts that were updated, by their ids, as they were before
}

// mergeField is where a record that is saved by a merge keeps the merge.
const mergeField = "@merge"

// updated notes a change of a contact, which may change again: the merge emits one event for all changes.
func (m *Merge) updated(before *Contact) {
	if m.before[before.ID] == nil {
		m.before[before.ID] = before
	}
}

// Apply merges the contacts in the caller's transaction, and returns the remaining one. A field that it lacks, and that Fields does not name, has
// the value of the first contact of From that has one. Relations to the others lead to it. The error may be ErrNotFound,
// ErrPreconditionFailed, a fault.Fields if the result is invalid, or a fault with the code InUse if a relation cannot move.
func (m *Merge) Apply(tx core.App, tenantID string) (*Contact, error) {
	present, err := FindAll(tx, tenantID, append([]string{m.ID}, m.From...))
	if err != nil {
		return nil, err
	}
	if err := m.check(present); err != nil {
		return nil, err
	}
	target, err := tx.FindCachedCollectionByNameOrId(CollectionName)
	if err != nil {
		return nil, fmt.Errorf("finding the collection of contacts: %w", err)
	}
	m.before = map[string]*Contact{}
	mark := func(record *core.Record) { record.SetRaw(mergeField, m) }
	if err := relation.Move(tx, target, m.From, m.ID, mark); err != nil {
		return nil, err
	}
	remaining, err := findRecord(tx, target, tenantID, m.ID)
	if err != nil {
		return nil, err
	}
	for _, id := range m.From { // the unique values that the remaining contact may get are free once these are deleted
		record, err := findRecord(tx, target, tenantID, id)
		if err != nil {
			return nil, err
		}
		m.fill(remaining, record)
		record.SetRaw(mergedIntoField, m.ID)
		if err := removeRecord(tx, record); err != nil {
			return nil, err
		}
	}
	mark(remaining)
	if err := saveMerged(tx, remaining); err != nil {
		return nil, err
	}
	if err := m.emit(tx, tenantID); err != nil {
		return nil, err
	}
	return Find(tx, tenantID, m.ID)
}

// emit writes one event for each contact that was updated and remains.
func (m *Merge) emit(tx core.App, tenantID string) error {
	present, err := FindAll(tx, tenantID, slices.Collect(maps.Keys(m.before)))
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(present)) {
		effects := updated(tenantID, m.before[id], present[id])
		effects.search = nil // each save has written its search row
		if err := effects.write(tx, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// check checks that the contacts can be merged, given those that exist.
func (m *Merge) check(present map[string]*Contact) error {
	remaining := present[m.ID]
	if remaining == nil {
		return ErrNotFound
	}
	if m.Matches != nil && !m.Matches(remaining) {
		return ErrPreconditionFailed
	}
	externalIDs := map[string]bool{remaining.ExternalID: true}
	for i, id := range m.From {
		if present[id] == nil {
			return fault.InvalidField("from", fault.CodeInvalidValue, fmt.Sprintf("ID number %d is not the ID of a contact", i+1))
		}
		externalIDs[present[id].ExternalID] = true
	}
	delete(externalIDs, "")
	if len(externalIDs) > 1 && m.Fields[externalIDField] == "" {
		return fault.InvalidField(externalIDField, fault.CodeRequired, "differs between the contacts. Name the contact whose externalId remains in fields")
	}
	return nil
}

// fill sets those fields of the remaining contact whose values come from another one.
func (m *Merge) fill(remaining, from *core.Record) {
	for _, field := range from.Collection().Fields {
		if !custom.Writable(field) || field.Type() == core.FieldTypePassword {
			continue
		}
		name := field.GetName()
		value := from.GetRaw(name)
		if field.Type() == core.FieldTypeRelation { // no contact relates to itself
			value = slices.DeleteFunc(from.GetStringSlice(name), func(id string) bool { return id == m.ID })
		}
		winner, named := m.Fields[name]
		if named && winner == from.Id || !named && lacks(remaining.GetRaw(name)) && !lacks(value) {
			custom.Set(remaining, field, value)
		}
	}
}

// lacks reports whether a value of a record stands for no value.
func lacks(value any) bool {
	shown := custom.Shown(value)
	return shown == nil || reflect.ValueOf(shown).IsZero()
}

func saveMerged(tx core.App, record *core.Record) error {
	err := tx.Save(record)
	var invalid validation.Errors
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &invalid):
		return schemaOf(record.Collection()).refused(err)
	}
	faults := fault.Fields{}
	for name, wrong := range invalid {
		faults[name] = custom.Fault(wrong)
	}
	return faults
}
