package contact

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/list"

	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
)

// MaxMerged is how many contacts can be merged into another one at once.
const MaxMerged = 50

// Merge says which contacts of a tenant become one.
type Merge struct {
	ID string // of the contact that remains
	// ids of the contacts that are merged into it and deleted, different from each other and from ID
	From    []string
	Fields  map[string]string   // by field, the id of the contact whose value the remaining one gets
	Matches func(*Contact) bool // reports whether the remaining contact is as the caller expects; nil for any
}

// Apply merges the contacts in the caller's transaction, and returns the remaining one. A field that it lacks, and
// that Fields does not name, has the value of the first contact of From that has one. Relations to the others lead to
// it. The error may be ErrNotFound, ErrPreconditionFailed, a fault.Error if the result is invalid, or one with the
// code InUse if a relation cannot move.
func (m *Merge) Apply(tx core.App, tenantID string) (*Contact, error) {
	p, merged, err := m.plan(tx, sqlite.ReaderOf(tx), tenantID)
	if err != nil {
		return nil, err
	}
	if err := relation.Move(tx, p.collection, m.From, m.ID); err != nil {
		return nil, err
	}
	_, refused, err := execute(inApp(tx), p)
	if err != nil {
		return nil, fmt.Errorf("merging contacts: %w", err)
	}
	if refused != nil {
		return nil, refused
	}
	announce(tx, tenantID, p.schema, p.changes)
	return merged, nil
}

// Preview returns what Apply would return, and writes nothing.
func (m *Merge) Preview(app core.App, tenantID string) (*Contact, error) {
	p, merged, err := m.plan(app, sqlite.Direct(app.ConcurrentDB()), tenantID)
	if err != nil {
		return nil, err
	}
	return merged, relation.CheckMove(app, p.collection, m.From, m.ID)
}

// plan decides on the deletions and on the change of the remaining contact, which it returns as it will be.
func (m *Merge) plan(app core.App, tx sqlite.Reader, tenantID string) (*plan, *Contact, error) {
	p, err := planOf(app, tenantID)
	if err != nil {
		return nil, nil, err
	}
	p.tx = tx
	items := []Item{{Keys: []Key{{ID, m.ID}}}}
	for _, id := range m.From {
		items = append(items, Item{Keys: []Key{{ID, id}}})
	}
	if err := p.load(items); err != nil {
		return nil, nil, err
	}
	contacts := map[string]*Contact{}
	for _, item := range items {
		found, err := p.findAny(item.Keys)
		if err != nil {
			return nil, nil, err
		}
		contacts[item.Keys[0].Value] = found
	}
	present := func(id string) *Contact { return contacts[id] }
	if err := m.check(present); err != nil {
		return nil, nil, err
	}
	remaining := present(m.ID)
	c := &change{before: remaining, sets: p.ownRelations(remaining, m), now: time.Now()}
	for _, id := range m.From { // the unique values that the remaining contact may get are free once these are deleted
		m.fill(p, c, present(id))
		p.delete(&change{before: present(id), mergedInto: m.ID})
	}
	result, err := p.decide(c)
	if result.Wrong != nil {
		err = result.Wrong
	}
	return p, result.Contact, err
}

// ownRelations returns changes that remove the relations of the remaining contact to the others, because no contact
// relates to itself.
func (p *plan) ownRelations(remaining *Contact, m *Merge) Changes {
	changes := Changes{}
	for i, field := range p.adminFields {
		relation, ok := field.(*core.RelationField)
		if !ok || relation.CollectionId != p.collection.Id {
			continue
		}
		ids := list.ToUniqueStringSlice(remaining.stored[i])
		if left := m.without(ids); len(left) < len(ids) {
			changes[relation.Name] = left
		}
	}
	return changes
}

// without returns the ids of contacts that remain, except that of the remaining one.
func (m *Merge) without(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == m.ID || slices.Contains(m.From, id) })
}

// check checks that the contacts can be merged, given those that exist.
func (m *Merge) check(present func(id string) *Contact) error {
	remaining := present(m.ID)
	if remaining == nil {
		return ErrNotFound
	}
	if m.Matches != nil && !m.Matches(remaining) {
		return ErrPreconditionFailed
	}
	externalIDs := map[string]bool{remaining.ExternalID: true}
	for i, id := range m.From {
		if present(id) == nil {
			return fault.InvalidField("from", fault.CodeInvalidValue,
				fmt.Sprintf("ID number %d is not the ID of a contact", i+1))
		}
		externalIDs[present(id).ExternalID] = true
	}
	delete(externalIDs, "")
	if len(externalIDs) > 1 && m.Fields[ExternalID] == "" {
		return fault.InvalidField(ExternalID, fault.CodeRequired,
			"differs between the contacts. Name the contact whose externalId remains in fields")
	}
	return nil
}

// fill adds to the change those fields of the remaining contact whose values come from another one.
func (m *Merge) fill(p *plan, c *change, from *Contact) {
	take := func(name string, own, value any) {
		if changed, sent := c.sets[name]; sent {
			own = changed
		}
		winner, named := m.Fields[name]
		if named && winner == from.ID || !named && lacks(own) && !lacks(value) {
			c.sets[name] = value
		}
	}
	for _, field := range Fields {
		take(field.Name, field.Value(c.before), field.Value(from))
	}
	for i, field := range p.adminFields {
		if !custom.Writable(field) || field.Type() == core.FieldTypePassword {
			continue
		}
		value := from.stored[i]
		if relation, ok := field.(*core.RelationField); ok && relation.CollectionId == p.collection.Id {
			value = m.without(list.ToUniqueStringSlice(value))
		}
		take(field.GetName(), c.before.stored[i], value)
	}
}

// lacks reports whether a value of a record stands for no value.
func lacks(value any) bool {
	shown := custom.Shown(value)
	return shown == nil || reflect.ValueOf(shown).IsZero()
}
