package contact

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/contact/custom"
	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Action is what an item asks for.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update" // of the contact that the keys find
	Upsert Action = "upsert" // of the contact that the keys find, or of a new one
	Delete Action = "delete" // of the contact that the keys find
)

// Key finds contacts by a field: ID, ExternalID, Email or Phone.
type Key struct{ Field, Value string }

// The fields of keys. Several contacts may share an email address or a phone number: the oldest one counts.
const (
	ID         = "id"
	ExternalID = "externalId"
	Email      = "email"
	Phone      = "phone"
)

// Item is a change that a caller asks for.
type Item struct {
	Action  Action
	Keys    []Key               // the first that finds a contact counts
	Changes Changes             // what to write
	New     Changes             // what an Upsert writes to a new contact; nil for Changes
	Fill    bool                // whether Changes are written only to fields of an existing contact that have no value
	Sole    bool                // whether a Delete fails with ErrAmbiguous if the key finds several contacts
	Matches func(*Contact) bool // reports whether the contact, nil if there is none, is as the caller expects; nil for any
	Wrong   *fault.Error        // why the item is invalid; nil if it is valid
}

// CompanyIsName is the warning about a contact that NamedByCompany has named.
const CompanyIsName = "name: the company is the name, too, because there is neither a name nor an email address"

// NamedByCompany returns the changes for a new contact of which only the company is known, with the company as its
// name, and nil for any other.
func NamedByCompany(changes Changes) Changes {
	company := changes["company"]
	for _, name := range []string{"name", Email} {
		if value := changes[name]; value != nil && value != "" {
			return nil
		}
	}
	if company == nil || company == "" {
		return nil
	}
	named := maps.Clone(changes)
	named["name"] = company
	return named
}

// Status is what an item did.
type Status string

// The statuses.
const (
	Created   Status = "created"
	Updated   Status = "updated"
	Unchanged Status = "unchanged"
	Deleted   Status = "deleted"
	Failed    Status = "failed"
)

// Result is the result of an item.
type Result struct {
	Status Status
	// after the item, for Deleted before it; nil if the item failed, unless with ErrPreconditionFailed or ErrMerged
	Contact *Contact
	Wrong   *fault.Error // why the item failed; nil if it did not
}

// Err returns why the item failed, nil if it did not.
func (r Result) Err() error {
	if r.Wrong == nil {
		return nil
	}
	return r.Wrong
}

func failed(why *fault.Error) Result { return Result{Status: Failed, Wrong: why} }

// AnyFailed reports whether one of the items failed.
func AnyFailed(results []Result) bool {
	return slices.ContainsFunc(results, func(r Result) bool { return r.Wrong != nil })
}

// ErrPreconditionFailed means that the contact is not as the caller expects: it has changed since they read it, or it
// exists although they expect that it does not, or the reverse.
var ErrPreconditionFailed = fault.New(fault.PreconditionFailed,
	"The contact does not match If-Match or If-None-Match. Read it again.")

// ErrAmbiguous means that several contacts have the email address by which one was to be deleted.
var ErrAmbiguous = fault.New(fault.Ambiguous,
	"Several contacts have this email address, so none was deleted. Delete by ID or externalId.")

// plan decides what items do to the contacts of a tenant. It reads, and writes nothing. A later item sees what
// earlier ones have made.
type plan struct {
	finder
	source  event.Source
	targets custom.Collections // to which the admin's relations lead
	newest  last               // contact of the tenant
	changes []*change          // in the order of their items
}

// change is the change of a contact that a plan has decided.
type change struct {
	item   int          // that asked for it
	before *Contact     // nil for a new contact
	after  *Contact     // nil for a deleted one
	record *core.Record // with the admin's fields; nil if there are none
	sets   Changes

	mergedInto string // the id of the contact that a deleted one is merged into, "" for none
	moved      bool   // whether relations of the stored contact have moved since it was planned: see relation.Move
	takesOver  bool   // whether its external id may lead to another contact until now: see merged.go

	fields []int     // the indexes in Fields of the shipped fields that change
	keys   []indexed // in the admin's unique indexes
	now    time.Time
}

// planOf returns a plan that lacks only its reader. Its changes are those of the app's actor.
func planOf(app core.App, tenantID string) (*plan, error) {
	s, err := schemaFor(app)
	if err != nil {
		return nil, err
	}
	targets, err := custom.Targets(s.custom, app.FindCachedCollectionByNameOrId)
	source := audit.Acting(app).Source()
	return &plan{finder: finder{schema: s, tenantID: tenantID}, source: source, targets: targets}, err
}

// with returns a plan that reads from tx, given one that lacks only that.
func (p *plan) with(tx sqlite.Reader) *plan {
	begun := *p
	begun.tx = tx
	return &begun
}

// next decides what the item with that index does.
func (p *plan) next(index int, item *Item) (Result, error) {
	if item.Wrong != nil {
		return failed(item.Wrong), nil //nolint:nilerr // the item fails, the others continue
	}
	found, followed, err := p.findAny(item.Keys)
	if err != nil {
		return Result{}, err
	}
	switch {
	case found == nil && (item.Action == Update || item.Action == Delete):
		return failed(ErrNotFound), nil
	case item.Matches != nil && !item.Matches(found):
		return Result{Status: Failed, Contact: found, Wrong: ErrPreconditionFailed}, nil
	case item.Action == Delete && followed:
		return Result{Status: Failed, Contact: found, Wrong: ErrMerged}, nil
	case item.Action == Delete:
		return p.deletion(index, item, found)
	}
	c := &change{item: index, before: found, sets: item.Changes, now: time.Now()}
	switch {
	case found == nil && item.New != nil:
		c.sets = item.New
	case found != nil && item.Fill:
		c.sets = found.lacking(item.Changes)
	}
	if followed {
		if c.sets, err = p.withoutLead(c.sets, found); err != nil {
			return Result{}, err
		}
	}
	if wrong := p.unknown(c.sets); wrong != nil {
		return failed(fault.InvalidContact(wrong)), nil
	}
	return p.decide(c)
}

// deletion decides on the deletion of the contact that the item has found.
func (p *plan) deletion(index int, item *Item, found *Contact) (Result, error) {
	if item.Sole {
		if others, err := p.findsOthers(item.Keys[0], found); err != nil || others {
			return failed(ErrAmbiguous), err
		}
	}
	p.delete(&change{item: index, before: found})
	return Result{Status: Deleted, Contact: found}, nil
}

func (p *plan) delete(c *change) {
	p.made.delete(c.before)
	p.changes = append(p.changes, c)
}

// decide decides what a change does. The result has Wrong if the contact would be invalid.
func (p *plan) decide(c *change) (Result, error) {
	write := p.create
	if c.before != nil {
		write = p.update
	}
	status, err := write(c)
	var wrong fault.Fields
	if errors.As(err, &wrong) {
		return failed(fault.InvalidContact(wrong)), nil
	}
	if err != nil {
		return Result{}, err
	}
	if status != Unchanged {
		if c.takesOver {
			p.take(c.after.ExternalID)
		}
		c.after.stored = p.raw(c.record)
		p.made.put(c.before, c.after)
		p.made.hold(c.after.ID, c.keys)
		p.changes = append(p.changes, c)
	}
	return Result{Status: status, Contact: c.after}, nil
}

// create decides on a new contact. The error is a fault.Fields if it is invalid, and ErrNoTenant if the
// tenant was deleted.
func (p *plan) create(c *change) (Status, error) {
	c.after = &Contact{}
	if err := p.apply(c); err != nil {
		return "", err
	}
	if err := p.checkUnique(c); err != nil {
		return "", err
	}
	return Created, p.place(c)
}

// update decides on the change of a contact. The error is a fault.Fields if the contact would be invalid.
func (p *plan) update(c *change) (Status, error) {
	after := *c.before
	c.after = &after
	if err := p.apply(c); err != nil {
		return "", err
	}
	c.fields = c.after.differing(c.before)
	if len(c.fields) == 0 && !customDiffers(c.after, c.before) {
		c.after = c.before
		return Unchanged, nil
	}
	if err := p.checkUnique(c); err != nil {
		return "", err
	}
	at, err := later(c.before, c.now)
	c.after.Updated = stamp.Shown(at)
	p.stamp(c)
	return Updated, err
}

// lacking returns the changes of fields in which the contact has no value.
func (c *Contact) lacking(changes Changes) Changes {
	lacking := maps.Clone(changes)
	for _, field := range Fields {
		if field.Value(c) != "" {
			delete(lacking, field.Name)
		}
	}
	for _, field := range c.Custom {
		if !field.isEmpty() {
			delete(lacking, field.Name)
		}
	}
	return lacking
}

// apply sets the fields of a contact, and checks what depends on the whole of it. The error is a fault.Fields
// if it is invalid.
func (p *plan) apply(c *change) error {
	for _, field := range Fields {
		if value, sent := c.sets[field.Name]; sent {
			*field.of(c.after), _ = value.(string)
		}
	}
	var faults fault.Fields
	if len(p.adminFields) > 0 {
		var err error
		if faults, err = p.setAdminFields(c); err != nil {
			return err
		}
	}
	if c.after.Name == "" && c.after.Email == "" {
		if faults == nil {
			faults = fault.Fields{}
		}
		missing := fault.Field{Code: fault.CodeRequired, Message: "name or email must be present"}
		faults["name"], faults["email"] = missing, missing
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}
