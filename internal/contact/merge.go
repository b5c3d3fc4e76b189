package contact

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/list"

	"contactbase/internal/audit"
	"contactbase/internal/contact/custom"
	"contactbase/internal/extension"
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

// merging is a merge that is planned, with the ids of the contacts themselves.
type merging struct {
	Merge
	*plan
	from          []*Contact // those of From, each once
	before, after *Contact   // the remaining one
}

// Apply merges the contacts in the caller's transaction, and returns the remaining one. A field that it lacks, and
// that Fields does not name, has the value of the first contact of From that has one. Relations to the others lead to
// it, and so do their ids. The error may be ErrNotFound, ErrPreconditionFailed, a fault.Error if the result is
// invalid, or one with the code InUse if a relation cannot move.
func (m *Merge) Apply(tx core.App, tenantID string) (*Contact, error) {
	tx = audit.As(tx, audit.Acting(tx).Merging())
	p, err := m.plan(tx, sqlite.ReaderOf(tx), tenantID)
	if err != nil {
		return nil, err
	}
	save := func(record *core.Record) error { return saveMoved(tx, record) }
	if err := relation.Move(tx, p.collection, p.From, p.ID, save); err != nil {
		return nil, err
	}
	// before the deletions, each of which forgets what leads to its contact
	if _, err := sqlite.Run(tx, mergedStatements(tenantID, p.after, p.before, p.from)); err != nil {
		return nil, fmt.Errorf("noting merged contacts: %w", err)
	}
	if hooks := extension.Places(tx, p.collection); len(hooks) > 0 {
		result, err := p.saveRecords(tx, hooks, Result{Contact: p.after})
		if err != nil {
			return nil, fmt.Errorf("merging contacts: %w", err)
		}
		return result.Contact, result.Err()
	}
	_, refused, err := execute(inApp(tx), p.plan)
	if err != nil {
		return nil, fmt.Errorf("merging contacts: %w", err)
	}
	if refused != nil {
		return nil, refused
	}
	announce(tx, tenantID, p.schema, p.changes)
	return p.after, nil
}

// Preview returns what Apply would return, and writes nothing.
func (m *Merge) Preview(app core.App, tenantID string) (merged *Contact, err error) {
	if contacts, err := schemaFor(app); err != nil {
		return nil, err
	} else if extension.Bound(app, contacts.collection) {
		err = previewRecords(context.Background(), app, tenantID, func(tx core.App) (err error) {
			merged, err = m.Apply(tx, tenantID)
			return err
		})
		return merged, err
	}
	p, err := m.plan(app, sqlite.Direct(app.ConcurrentDB()), tenantID)
	if err != nil {
		return nil, err
	}
	return p.after, relation.CheckMove(app, p.collection, p.From, p.ID)
}

// plan decides on the deletions and on the change of the remaining contact.
func (m *Merge) plan(app core.App, tx sqlite.Reader, tenantID string) (*merging, error) {
	p, err := planOf(app, tenantID)
	if err != nil {
		return nil, err
	}
	p.tx = tx
	contacts, err := p.all(append([]string{m.ID}, m.From...))
	if err != nil {
		return nil, err
	}
	r, err := m.resolve(contacts)
	if err != nil {
		return nil, err
	}
	r.plan = p
	c := &change{before: r.before, sets: p.ownRelations(r.before, &r.Merge), moved: true, now: time.Now()}
	for _, from := range r.from { // the unique values that the remaining contact may get are free once these are deleted
		r.fill(p, c, from)
		p.delete(&change{before: from, mergedInto: r.ID})
	}
	result, err := p.decide(c)
	if result.Wrong != nil {
		err = result.Wrong
	}
	r.after = result.Contact
	return r, err
}

// all returns the contacts that ids find, by these ids.
func (p *plan) all(ids []string) (map[string]*Contact, error) {
	items := make([]Item, len(ids))
	for i, id := range ids {
		items[i].Keys = []Key{{ID, id}}
	}
	if err := p.load(items); err != nil {
		return nil, err
	}
	found := map[string]*Contact{}
	for i, id := range ids {
		var err error
		if found[id], _, err = p.findAny(items[i].Keys); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// resolve checks that the contacts can be merged, given those that the ids find, and returns the merge of these. It
// has no plan.
func (m *Merge) resolve(contacts map[string]*Contact) (*merging, error) {
	remaining := contacts[m.ID]
	if remaining == nil {
		return nil, ErrNotFound
	}
	if m.Matches != nil && !m.Matches(remaining) {
		return nil, ErrPreconditionFailed
	}
	r := &merging{Merge: Merge{ID: remaining.ID, Fields: maps.Clone(m.Fields)}, before: remaining}
	for name, id := range r.Fields {
		if from := contacts[id]; from != nil {
			r.Fields[name] = from.ID
		}
	}
	externalIDs := map[string]bool{remaining.ExternalID: true}
	for i, id := range m.From {
		from := contacts[id]
		switch {
		case from == nil:
			return nil, fault.InvalidField("from", fault.CodeInvalidValue,
				fmt.Sprintf("ID number %d is not the ID of a contact", i+1))
		case from.ID == r.ID:
			return nil, fault.InvalidField("from", fault.CodeInvalidValue,
				fmt.Sprintf("ID number %d leads to the remaining contact itself, because the two were merged before", i+1))
		case slices.Contains(r.From, from.ID):
			continue
		}
		r.From, r.from = append(r.From, from.ID), append(r.from, from)
		externalIDs[from.ExternalID] = true
	}
	delete(externalIDs, "")
	if len(externalIDs) > 1 && m.Fields[ExternalID] == "" {
		return nil, fault.InvalidField(ExternalID, fault.CodeRequired,
			"differs between the contacts. Name the contact whose externalId remains in fields")
	}
	return r, nil
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
