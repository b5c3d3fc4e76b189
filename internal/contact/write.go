package contact

import (
	"context"
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

// ErrPreconditionFailed means that the contact is not as the caller expects: it has changed since they read it, or it exists although they
// expect that it does not, or the reverse.
var ErrPreconditionFailed = fault.New(fault.PreconditionFailed, "The contact does not match If-Match or If-None-Match. Read it again.")

// Tx is the transaction in which contacts are written. Write functions read through it. It holds no app, through which they could wait for
// another connection while all other writers wait for them.
type Tx struct {
	sqlite.Reader

	schema  *schema
	targets custom.Collections // to which the admin's relations lead
	newest  last               // of the tenant that a contact was created for
	writes  []*Write           // to be announced after the commit
}

// Write is a write of a contact that is still to be done. The write functions Create, Update and Upsert return it.
type Write struct {
	Before *Contact     // nil for a new contact
	After  *Contact     // Before itself if nothing changes
	Event  *event.Event // nil if nothing changes

	// Statements write the contact, its search row and its event. The first is the one that an admin's unique index may refuse: it has to be
	// the first of the transaction.
	Statements []sqlite.Statement

	row    sqlite.Statement
	search []sqlite.Statement
	record *core.Record // with the admin's fields; nil if there are none
	now    time.Time
}

// Commit calls write and runs the statements that it returns, in one transaction, which may share its commit with others: see sqlite.Write.
// It writes on behalf of the tenant. If the app is in a transaction, the write becomes a part of it. After the commit PocketBase's
// subscribers receive the contacts that were written, which also wakes the background workers. write may be called twice, and must not
// change anything itself. The error is a fault.Fields if an admin's unique index refuses a contact. ctx is that of sqlite.WriteFor.
func Commit(ctx context.Context, app core.App, tenantID string, write func(tx *Tx) ([]sqlite.Statement, error)) error {
	var tx Tx
	err := withTx(app, func(unread Tx) error {
		_, err := sqlite.WriteFor(ctx, app, tenantID, func(reader sqlite.Reader) ([]sqlite.Statement, error) {
			tx = unread
			tx.Reader = reader
			return write(&tx)
		})
		if err != nil {
			return unread.schema.refused(err)
		}
		return nil
	})
	if err == nil {
		tx.schema.announce(app, tx.writes)
	}
	return err
}

// Create returns the write of a new contact of the tenant. The error is a fault.Fields if the changes are invalid, and ErrNoTenant if the
// tenant was deleted.
func Create(tx *Tx, tenantID string, changes Changes) (Write, error) {
	w, err := tx.newContact(tenantID, changes)
	if err == nil {
		err = checkExternalID(tx, tenantID, w.After.ExternalID)
	}
	if err == nil {
		err = tx.insert(&w, tenantID)
	}
	return tx.complete(w, err)
}

// Update returns the write that changes a contact of the tenant. If matches is not nil and returns false for the current contact, the error
// is ErrPreconditionFailed.
func Update(tx *Tx, tenantID, id string, changes Changes, matches func(*Contact) bool) (Write, error) {
	before, err := tx.schema.find(tx, tx.schema.adminFields, byID, tenantID, id)
	if err != nil {
		return Write{}, err
	}
	if matches != nil && !matches(before) {
		return Write{}, ErrPreconditionFailed
	}
	return tx.complete(tx.change(tenantID, before, changes))
}

// Upsert returns the write that changes the tenant's contact with the external id of the changes, or creates it. If matches is not nil and
// returns false for the current contact, which is nil if there is none, the error is ErrPreconditionFailed.
func Upsert(tx *Tx, tenantID string, changes Changes, matches func(*Contact) bool) (Write, error) {
	externalID, _ := changes[externalIDField].(string)
	before, err := tx.schema.find(tx, tx.schema.adminFields, byExternalID, tenantID, externalID)
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
	emitted, err := event.Insert(w.Event, w.now)
	if err != nil {
		return Write{}, err
	}
	w.Statements = append(append([]sqlite.Statement{w.row}, w.search...), emitted)
	tx.writes = append(tx.writes, &w)
	return w, nil
}

// newContact returns the write of a new contact, which does not have an id and statements yet.
func (tx *Tx) newContact(tenantID string, changes Changes) (w Write, err error) {
	if err := tx.schema.known(changes); err != nil {
		return w, err
	}
	w = Write{After: &Contact{}, now: time.Now()}
	changes.applyTo(w.After)
	return w, tx.check(&w, tenantID, changes)
}

// insert sets the id and the times of a new contact, so that it follows the tenant's newest one, and adds its row and side effects.
func (tx *Tx) insert(w *Write, tenantID string) error {
	id, at, err := tx.place(tenantID, w.now)
	if err != nil {
		return err
	}
	tx.schema.stamp(w)
	when, c := stamp.Stored(at), w.After
	c.ID, c.Created, c.Updated = id, stamp.Show(when), stamp.Show(when)
	args := make([]any, 0, len(shippedFields)+len(tx.schema.adminFields))
	args = append(args, c.ID, tenantID)
	for _, field := range Fields {
		args = append(args, *field.of(c))
	}
	args, err = tx.schema.appendAdminFields(append(args, when, when), w.record)
	if err != nil {
		return err
	}
	w.row = sqlite.Statement{Text: tx.schema.insertSQL, Args: args}
	w.add(created(tenantID, c))
	return nil
}

// change returns the write that changes a contact, which does not have all its statements yet.
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
	w.add(updated(tenantID, before, &c))
	return w, nil
}

var assignments = eachField(func(f *Field) string { return "`" + f.Name + "` = ?, " })

// update returns the statement that writes the row of a changed contact. Of the shipped fields it sets only those that changed, because SQLite
// writes every index of a column that is set.
func (tx *Tx) update(w *Write, tenantID string, changed []int, changes Changes, updated string) (sqlite.Statement, error) {
	tx.schema.stamp(w)
	var set strings.Builder
	args := make([]any, 0, len(changed)+3)
	for _, i := range changed {
		set.WriteString(assignments[i])
		args = append(args, *Fields[i].of(w.After))
	}
	for _, field := range tx.schema.adminFields {
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
