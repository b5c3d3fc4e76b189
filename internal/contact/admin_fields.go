package contact

import (
	"fmt"
	"maps"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/security"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
)

// A write function sets and checks the admin's fields on a record that is never saved, so that PocketBase's field types turn values into
// columns. It generates texts and sets automatic dates itself, which hooks of PocketBase do for a record that is saved. ParseChanges checks
// the values that callers send, before the transaction. In the transaction, only what depends on the contact is checked.

// appendAdminFields appends the values of the admin's columns, in the order of insertSQL.
func (s *schema) appendAdminFields(args []any, record *core.Record) ([]any, error) {
	for _, field := range s.adminFields {
		value, err := custom.Column(field, record)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	return args, nil
}

// check sets the custom fields of a contact and checks what depends on the whole contact. The error is a fault.Fields if it is invalid.
func (tx *Tx) check(w *Write, tenantID string, changes Changes) error {
	var faults fault.Fields
	if w.After.Name == "" && w.After.Email == "" {
		faults = nameOrEmail()
	}
	if len(tx.schema.adminFields) > 0 {
		wrong, err := tx.setAdminFields(w, tenantID, changes)
		if err != nil {
			return err
		}
		maps.Copy(wrong, faults)
		faults = wrong
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// setAdminFields sets the admin's fields, and returns the errors in them.
func (tx *Tx) setAdminFields(w *Write, tenantID string, changes Changes) (faults fault.Fields, err error) {
	if w.record, err = tx.schema.recordOf(tenantID, w.Before); err != nil {
		return nil, err
	}
	faults = fault.Fields{}
	for i, field := range tx.schema.adminFields {
		wrong, err := tx.set(w, i, tenantID, changes)
		if err != nil {
			return nil, err
		}
		if wrong != nil {
			faults[field.GetName()] = *wrong
		}
	}
	w.After.Custom = tx.schema.shown(w.record)
	return faults, nil
}

// set sets one of the admin's fields to the value that was sent or generated, and returns the errors in it.
func (tx *Tx) set(w *Write, i int, tenantID string, changes Changes) (*fault.Field, error) {
	field := tx.schema.adminFields[i]
	name := field.GetName()
	value, sent := changes[name]
	if sent && !custom.Writable(field) {
		if !sameValue(custom.Shown(w.record.GetRaw(name)), custom.Shown(value)) {
			return &readOnly, nil
		}
		sent = false
	}
	if sent {
		custom.Set(w.record, field, value)
	}
	if w.Before == nil && custom.IsGenerated(field, w.record) {
		generated, err := security.RandomStringByRegex(field.(*core.TextField).AutogeneratePattern)
		if err != nil {
			return nil, fmt.Errorf("generating the field %q: %w", name, err)
		}
		w.record.SetRaw(name, generated)
		sent = false
	}
	if i >= len(tx.schema.custom) {
		return nil, nil
	}
	var wrong error
	var err error
	if relation, ok := field.(*core.RelationField); ok {
		wrong, err = tx.checkRelation(w, i, relation, tenantID)
	} else if !sent || custom.IsGenerated(field, w.record) {
		wrong = custom.Check(field, w.record)
	}
	if wrong == nil || err != nil {
		return nil, err
	}
	found := custom.Fault(wrong)
	return &found, nil
}

// stamp sets the automatic dates of a contact that is written.
func (s *schema) stamp(w *Write) {
	if len(s.adminFields) == 0 {
		return
	}
	now, _ := types.ParseDateTime(w.now) // it never fails for a time.Time
	for _, field := range s.adminFields {
		if custom.IsStamped(field, w.Before == nil) {
			w.record.SetRaw(field.GetName(), now)
		}
	}
	w.After.Custom = s.shown(w.record)
}

// sets reports whether the changes of a contact write the field.
func (c Changes) sets(field core.Field) bool {
	_, sent := c[field.GetName()]
	return sent && custom.Writable(field) || custom.IsStamped(field, false)
}

// customDiffers reports whether two states of a contact differ in a custom field.
func customDiffers(a, b *Contact) bool {
	for i := range a.Custom {
		if !sameValue(a.Custom[i].Value, b.Custom[i].Value) {
			return true
		}
	}
	return false
}

// recordOf returns the contact as PocketBase reads it, or a new record. It is marked as new, so that no field reads it from the database.
func (s *schema) recordOf(tenantID string, c *Contact) (*core.Record, error) {
	record := core.NewRecord(s.collection)
	if c == nil {
		return record, nil
	}
	s.fill(record, tenantID, c)
	for i, value := range c.stored {
		record.SetRaw(s.adminFields[i].GetName(), value)
	}
	if err := record.PostScan(); err != nil { // makes these values the original ones
		return nil, fmt.Errorf("reading the contact %s: %w", c.ID, err)
	}
	record.MarkAsNew()
	return record, nil
}

// checkRelation returns PocketBase's verdict on the rows that a relation leads to. PocketBase's own check could not see what the transaction
// has written.
func (tx *Tx) checkRelation(w *Write, i int, relation *core.RelationField, tenantID string) (wrong, err error) {
	ids := w.record.GetStringSlice(relation.Name)
	if wrong := custom.CheckCount(relation, len(ids)); wrong != nil || len(ids) == 0 {
		return wrong, nil
	}
	var stored any
	if w.Before != nil {
		stored = w.Before.stored[i]
	}
	return custom.CheckRows(tx, relation, tx.targets[relation.CollectionId], tx.schema.collection, tenantID, custom.Added(ids, stored))
}
