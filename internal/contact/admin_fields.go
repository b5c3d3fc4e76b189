package contact

import (
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/security"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
)

// A plan sets and checks the admin's fields on a record that is never saved, so that PocketBase's field types turn
// values into columns. It generates texts and sets automatic dates itself, which hooks of PocketBase do for a record
// that is saved. ParseChanges checks the values that callers send, before the transaction. In the transaction, only
// what depends on the contact is checked.

// setAdminFields sets the admin's fields, and returns the errors in them.
func (p *plan) setAdminFields(c *change) (faults fault.Fields, err error) {
	if c.record, err = p.recordOf(p.tenantID, c.before); err != nil {
		return nil, err
	}
	faults = fault.Fields{}
	for i, field := range p.adminFields {
		wrong, err := p.set(c, i)
		if err != nil {
			return nil, err
		}
		if wrong != nil {
			faults[field.GetName()] = *wrong
		}
	}
	c.after.Custom = p.shown(c.record)
	return faults, nil
}

// set sets one of the admin's fields to the value that was sent or generated, and returns the errors in it.
func (p *plan) set(c *change, i int) (*fault.Field, error) {
	field := p.adminFields[i]
	name := field.GetName()
	value, sent := c.sets[name]
	if sent && !custom.Writable(field) {
		if !sameValue(custom.Shown(c.record.GetRaw(name)), custom.Shown(value)) {
			return &readOnly, nil
		}
		sent = false
	}
	if sent {
		custom.Set(c.record, field, value)
	}
	if c.before == nil && custom.IsGenerated(field, c.record) {
		generated, err := security.RandomStringByRegex(field.(*core.TextField).AutogeneratePattern)
		if err != nil {
			return nil, fmt.Errorf("generating the field %q: %w", name, err)
		}
		c.record.SetRaw(name, generated)
		sent = false
	}
	if i >= len(p.custom) {
		return nil, nil
	}
	var wrong error
	var err error
	if relation, ok := field.(*core.RelationField); ok {
		wrong, err = p.checkRelation(c, i, relation)
	} else if !sent || custom.IsGenerated(field, c.record) {
		wrong = custom.Check(field, c.record)
	}
	if wrong == nil || err != nil {
		return nil, err
	}
	found := custom.Fault(wrong)
	return &found, nil
}

// stamp sets the automatic dates of a contact that is written.
func (p *plan) stamp(c *change) {
	if len(p.adminFields) == 0 {
		return
	}
	now, _ := types.ParseDateTime(c.now) // it never fails for a time.Time
	for _, field := range p.adminFields {
		if custom.IsStamped(field, c.before == nil) {
			c.record.SetRaw(field.GetName(), now)
		}
	}
	c.after.Custom = p.shown(c.record)
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

// recordOf returns the contact as PocketBase reads it, or a new record. It is marked as new, so that no field reads
// it from the database.
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

// raw returns the values of the admin's fields of a record as Contact.stored has them; nil without a record.
func (s *schema) raw(record *core.Record) (values []any) {
	if record == nil {
		return nil
	}
	for _, field := range s.adminFields {
		values = append(values, record.GetRaw(field.GetName()))
	}
	return values
}

// checkRelation returns PocketBase's verdict on the rows that a relation leads to. PocketBase's own check does not
// see the writes of the transaction.
func (p *plan) checkRelation(c *change, i int, relation *core.RelationField) (wrong, err error) {
	ids := c.record.GetStringSlice(relation.Name)
	if wrong := custom.CheckCount(relation, len(ids)); wrong != nil || len(ids) == 0 {
		return wrong, nil
	}
	var stored any
	if c.before != nil {
		stored = c.before.stored[i]
	}
	added := custom.Added(ids, stored)
	if relation.CollectionId == p.collection.Id && slices.ContainsFunc(added, func(id string) bool {
		return p.made.has(id) && p.made.contacts[id] == nil
	}) {
		return custom.ErrNoSuchRow, nil
	}
	return custom.CheckRows(p.tx, relation, p.targets[relation.CollectionId], p.collection, p.tenantID, added)
}
