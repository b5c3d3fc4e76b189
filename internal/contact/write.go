package contact

import (
	"errors"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// ErrPreconditionFailed means that the contact is not as the caller expects: it has changed since they read it, or whether there
// is one is not as they think.
var ErrPreconditionFailed = fault.New(fault.PreconditionFailed, "The contact is not as the request expects it to be; read it again.")

// Tx is the transaction in which contacts are written. Write functions read through it. It holds no app, through which they could wait for
// another connection while all other writers wait for them.
type Tx struct {
	sqlite.Reader

	schema  *schema
	targets custom.Collections // to which the admin's relations lead
	newest  last               // of the tenant that a contact was created for
	writes  []*Write           // to be announced after the commit
}

// Write is a write of a contact, as yet not done. The write functions Create, Update and Upsert return it.
type Write struct {
	Before *Contact     // nil for a new contact
	After  *Contact     // Before itself where nothing changes
	Event  *event.Event // nil where nothing changes

	// Statements write the contact, what it is found by, and its event. The first is the one that an admin's unique index may
	// refuse: it belongs in front of all others of the transaction.
	Statements []sqlite.Statement

	row    sqlite.Statement
	search []sqlite.Statement
	record *core.Record // with the admin's fields; nil where there are none
	now    time.Time
}

// Commit runs what write returns as one transaction, in the commit of those that wait with it: see sqlite.Write. In an app that is
// in a transaction, it becomes a part of that one. After the commit PocketBase's subscribers get the contacts that were written.
// write may be called twice, and changes nothing but what it returns. The error is a fault.Fields where a unique index of an admin refuses
// a contact.
func Commit(app core.App, write func(tx *Tx) ([]sqlite.Statement, error)) error {
	return withTx(app, func(unread Tx) error {
		var tx Tx
		_, err := sqlite.Write(app, func(reader sqlite.Reader) ([]sqlite.Statement, error) {
			tx = unread
			tx.Reader = reader
			return write(&tx)
		})
		if err != nil {
			return tx.schema.refused(err)
		}
		return tx.schema.announce(app, tx.writes)
	})
}

// Create returns the write of a new contact of the tenant. The error is a fault.Fields where the changes are at fault, and
// ErrNoTenant where the tenant was deleted.
func Create(tx *Tx, tenantID string, changes Changes) (Write, error) {
	w, err := tx.newContact(tenantID, changes)
	if err == nil {
		err = checkExternalID(tx, tenantID, w.After.ExternalID)
	}
	if err == nil {
		err = tx.insert(&w, tenantID, changes.cause())
	}
	return tx.complete(w, err)
}

// Update returns the write that changes a contact of the tenant. matches, where given, decides by the present contact whether the change
// may go on (ErrPreconditionFailed).
func Update(tx *Tx, tenantID, id string, changes Changes, matches func(*Contact) bool) (Write, error) {
	before, err := tx.schema.find(tx, tx.schema.own, tenantID, id)
	if err != nil {
		return Write{}, err
	}
	if matches != nil && !matches(before) {
		return Write{}, ErrPreconditionFailed
	}
	return tx.complete(tx.change(tenantID, before, changes))
}

// Upsert returns the write that changes the contact of the tenant with the external id of the changes, or creates it where there is none.
// matches, where given, decides by the present contact, nil for none, whether that may go on (ErrPreconditionFailed).
func Upsert(tx *Tx, tenantID string, changes Changes, matches func(*Contact) bool) (Write, error) {
	externalID, _ := changes[externalIDField].(string)
	before, err := tx.schema.findByExternalID(tx, tx.schema.own, tenantID, externalID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Write{}, err
	}
	if matches != nil && !matches(before) {
		return Write{}, ErrPreconditionFailed
	}
	if before == nil {
		return Create(tx, tenantID, changes)
	}
	return tx.complete(tx.change(tenantID, before, changes))
}

// complete adds the statements to a write that was made without an error.
func (tx *Tx) complete(w Write, err error) (Write, error) {
	if err != nil {
		return Write{}, err
	}
	if w.Event == nil {
		return w, nil
	}
	emitted, err := event.Insert(tx, w.Event, w.now)
	if err != nil {
		return Write{}, err
	}
	w.Statements = append(append([]sqlite.Statement{w.row}, w.search...), emitted)
	tx.writes = append(tx.writes, &w)
	return w, nil
}

// newContact returns the write of a new contact, which as yet has no id and no statements.
func (tx *Tx) newContact(tenantID string, changes Changes) (w Write, err error) {
	if err := tx.schema.known(changes); err != nil {
		return w, err
	}
	w = Write{After: &Contact{}, now: time.Now()}
	changes.applyTo(w.After)
	return w, tx.check(&w, tenantID, changes)
}

// insert gives the new contact its id and its times, behind the tenant's newest, and makes its row.
func (tx *Tx) insert(w *Write, tenantID, cause string) error {
	id, at, err := tx.place(tenantID, w.now)
	if err != nil {
		return err
	}
	tx.schema.stamp(w)
	when, c := stamp.Stored(at), w.After
	c.ID, c.Created, c.Updated = id, stamp.Show(when), stamp.Show(when)
	args := make([]any, 0, len(shippedFields)+len(tx.schema.own))
	args = append(args, c.ID, tenantID)
	for _, field := range Fields {
		args = append(args, *field.of(c))
	}
	args, err = tx.schema.appendOwn(append(args, when, when), w.record)
	if err != nil {
		return err
	}
	w.row = sqlite.Statement{Text: tx.schema.insertSQL, Args: args}
	w.add(created(tenantID, c, cause))
	return nil
}

// change returns the write that changes a contact, as yet without statements.
func (tx *Tx) change(tenantID string, before *Contact, changes Changes) (Write, error) {
	if err := tx.schema.known(changes); err != nil {
		return Write{}, err
	}
	c := *before
	w := Write{Before: before, After: &c, now: time.Now()}
	changes.applyTo(&c)
	if err := tx.check(&w, tenantID, changes); err != nil {
		return Write{}, err
	}
	changed := c.differing(before)
	if len(changed) == 0 && !customDiffers(&c, before) {
		return Write{Before: before, After: before}, nil
	}
	if c.ExternalID != before.ExternalID {
		if err := checkExternalID(tx, tenantID, c.ExternalID); err != nil {
			return Write{}, err
		}
	}
	at, err := later(before, w.now)
	if err != nil {
		return Write{}, err
	}
	when := stamp.Stored(at)
	c.Updated = stamp.Show(when)
	if w.row, err = tx.update(&w, tenantID, changed, changes, when); err != nil {
		return Write{}, err
	}
	w.add(updated(tenantID, before, &c, changes.cause()))
	return w, nil
}

var assignments = eachField(func(f *Field) string { return "`" + f.Name + "` = ?, " })

// update returns the statement that writes the row of a changed contact: no more than what changed of the shipped fields, because SQLite
// writes every index of what is set.
func (tx *Tx) update(w *Write, tenantID string, changed []int, changes Changes, updated string) (sqlite.Statement, error) {
	tx.schema.stamp(w)
	var set strings.Builder
	args := make([]any, 0, len(changed)+3)
	for _, i := range changed {
		set.WriteString(assignments[i])
		args = append(args, *Fields[i].of(w.After))
	}
	for _, field := range tx.schema.own {
		if !changes.sets(field) {
			continue
		}
		value, err := custom.Column(field, w.record)
		if err != nil {
			return sqlite.Statement{}, err
		}
		set.WriteString("`" + field.GetName() + "` = ?, ")
		args = append(args, value)
	}
	return sqlite.Statement{
		Text: "UPDATE `contacts` SET " + set.String() + "`updated` = ? WHERE `id` = ? AND `tenant` = ?",
		Args: append(args, updated, w.After.ID, tenantID),
	}, nil
}

func (w *Write) add(effects sideEffects) { w.search, w.Event = effects.search, effects.event }

// applyTo sets the shipped fields.
func (c Changes) applyTo(to *Contact) {
	for _, field := range Fields {
		if value, sent := c[field.Name]; sent {
			*field.of(to), _ = value.(string)
		}
	}
}

func (c Changes) cause() string {
	cause, _ := c[causeField].(string)
	return cause
}
