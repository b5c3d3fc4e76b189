package contact

import (
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/search"
	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// Batch writes many contacts of a tenant in one transaction. It gathers new contacts and events and writes them together, which takes a
// third of the time.
type Batch struct {
	app      core.App // of the transaction
	tenantID string

	freeIDs    map[string]bool // external ids that no contact has
	freeEmails map[string]bool // email addresses, folded, that no contact has

	pending []pendingCreate
	events  event.Batch

	related bool       // whether a relation of an admin may lead to contacts
	gone    []*Contact // deleted, and not yet erased elsewhere
	erase   Erase
}

// pendingCreate is a new contact that is not yet written.
type pendingCreate struct {
	changes Changes
	done    func(c *Contact, refused fault.Fields)
}

const (
	usedIDsSQL    = "SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM contacts WHERE tenant = ?2 AND externalId = value AND externalId != '')"
	usedEmailsSQL = "SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM _contactSearch WHERE tenant = ?2 AND email = value AND email != '')"
)

// NewBatch returns a batch in the app's transaction. externalIDs and emails are those by which the caller will look for contacts.
func NewBatch(app core.App, tenantID string, externalIDs, emails []string) (b *Batch, err error) {
	b = &Batch{app: app, tenantID: tenantID}
	folded := make([]string, len(emails))
	for i, email := range emails {
		folded[i] = search.FoldEmail(email)
	}
	if b.freeIDs, err = b.without(externalIDs, usedIDsSQL); err == nil {
		b.freeEmails, err = b.without(folded, usedEmailsSQL)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for the contacts of a batch: %w", err)
	}
	return b, nil
}

// without returns the values that the query does not return.
func (b *Batch) without(values []string, usedSQL string) (map[string]bool, error) {
	free := make(map[string]bool, len(values))
	for _, value := range values {
		free[value] = true
	}
	used, err := sqlite.Values[string](sqlite.ReaderOf(b.app), usedSQL, sqlite.List(values), b.tenantID)
	for _, value := range used {
		delete(free, value)
	}
	return free, err
}

// Find is like the function Find, in the batch.
func (b *Batch) Find(id string) (*Contact, error) { return b.find(byID, id, false) }

// FindByExternalID returns the tenant's contact with that external id, or ErrNotFound.
func (b *Batch) FindByExternalID(externalID string) (*Contact, error) {
	return b.find(byExternalID, externalID, b.freeIDs[externalID])
}

// FindByEmail returns the tenant's oldest contact with that email address, ignoring case, or ErrNotFound.
func (b *Batch) FindByEmail(email string) (*Contact, error) {
	key := search.FoldEmail(email)
	return b.find(byEmail, key, b.freeEmails[key])
}

// find finds a contact by a key. If the key is free, no contact has it.
func (b *Batch) find(by, key string, free bool) (*Contact, error) {
	if free {
		return nil, ErrNotFound
	}
	if err := b.Flush(); err != nil {
		return nil, err
	}
	return find(b.app, by, b.tenantID, key)
}

// take notes that the keys may belong to a contact from now on.
func (b *Batch) take(externalID, email string) {
	delete(b.freeIDs, externalID)
	delete(b.freeEmails, search.FoldEmail(email))
}

// Create creates a contact when the batch is flushed. It then calls done with the contact, or with the reason why it was refused.
func (b *Batch) Create(changes Changes, done func(c *Contact, refused fault.Fields)) {
	c := &Contact{}
	changes.applyTo(c)
	b.take(c.ExternalID, c.Email)
	b.pending = append(b.pending, pendingCreate{changes, done})
}

// Update is like the function Update, in the batch. It reports whether anything changed.
func (b *Batch) Update(id string, changes Changes) (c *Contact, changed bool, err error) {
	if err := b.Flush(); err != nil {
		return nil, false, err
	}
	var w Write
	err = b.withTx(func(tx *Tx) (err error) {
		w, err = b.update(tx, id, changes)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	b.take(w.After.ExternalID, w.After.Email)
	return w.After, w.Event != nil, nil
}

func (b *Batch) update(tx *Tx, id string, changes Changes) (Write, error) {
	before, err := tx.schema.find(tx, tx.schema.adminFields, byID, b.tenantID, id)
	if err != nil {
		return Write{}, err
	}
	w, err := tx.change(b.tenantID, before, changes)
	if err != nil || w.Event == nil {
		return w, err
	}
	if _, err := sqlite.Run(b.app, append([]sqlite.Statement{w.row}, w.search...)); err != nil {
		return Write{}, tx.schema.refused(err)
	}
	return w, b.written(tx, &w)
}

// written gathers the events of contacts that were written, and announces the contacts after the commit.
func (b *Batch) written(tx *Tx, writes ...*Write) error {
	for _, w := range writes {
		if err := b.events.Add(w.Event, w.now); err != nil {
			return err
		}
	}
	tx.schema.announce(b.app, writes)
	return nil
}

// withTx calls do with a Tx of the batch's transaction.
func (b *Batch) withTx(do func(*Tx) error) error {
	return withTx(b.app, func(tx Tx) error {
		tx.Reader = sqlite.ReaderOf(b.app)
		return do(&tx)
	})
}

// Delete deletes a contact. The error is a fault with the code InUse if one of the admin's relations forbids the deletion. If it fails, what
// it has written is undone.
func (b *Batch) Delete(id string) error {
	related, err := isRelated(b.app)
	if err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if b.related = related; !related {
		return b.remove(id)
	}
	if err := b.events.Flush(b.app); err != nil { // the deletion writes its own event, and may delete other contacts
		return err
	}
	return sqlite.Savepoint(b.app, func() error { return b.remove(id) })
}

// deleteUnrelated deletes a record that was read in this transaction, and to which no relation leads. It gathers the event.
func (b *Batch) deleteUnrelated(e *core.RecordEvent, erase Erase) error {
	if err := e.Next(); err != nil {
		return err
	}
	c := OfRecord(e.Record)
	effects := deleted(e.Record, c)
	if _, err := sqlite.Run(b.app, effects.search); err != nil {
		return err
	}
	b.eraseLater(c, erase)
	return b.events.Add(effects.event, time.Now())
}

func (b *Batch) eraseLater(c *Contact, erase Erase) { b.gone, b.erase = append(b.gone, c), erase }

// Flush writes the contacts that were gathered.
func (b *Batch) Flush() error {
	pending := b.pending
	b.pending = nil
	for len(pending) > 0 {
		created, err := b.createTogether(pending)
		var refused fault.Fields
		if errors.As(err, &refused) {
			pending[0].done(nil, refused)
			created, err = 1, nil
		}
		if err != nil {
			return err
		}
		pending = pending[created:]
	}
	return nil
}

// createTogether creates contacts one after the other, up to the first that is refused, and returns how many it created. The error is a
// fault.Fields if the very first is refused.
func (b *Batch) createTogether(pending []pendingCreate) (created int, err error) {
	err = b.withTx(func(tx *Tx) error {
		writes, refused := b.writesOf(tx, pending)
		if len(writes) > 0 {
			if created, refused = b.insert(tx, writes); refused != nil {
				return refused
			}
		}
		if created == 0 {
			return refused
		}
		for i, w := range writes[:created] {
			pending[i].done(w.After, nil)
		}
		return b.written(tx, writes[:created]...)
	})
	return created, err
}

// writesOf returns the writes of new contacts, up to the first invalid one, and the error of that one.
func (b *Batch) writesOf(tx *Tx, pending []pendingCreate) (writes []*Write, err error) {
	for _, p := range pending {
		w, err := tx.newContact(b.tenantID, p.changes)
		if err == nil {
			err = tx.insert(&w, b.tenantID)
		}
		if err != nil {
			return writes, err
		}
		writes = append(writes, &w)
	}
	return writes, nil
}

// insert writes new contacts, up to the first that a unique index refuses, and returns how many it wrote. The error is a fault.Fields if
// the very first is refused.
func (b *Batch) insert(tx *Tx, writes []*Write) (written int, err error) {
	rows, found := make([][]any, len(writes)), make([][]any, len(writes))
	for i, w := range writes {
		rows[i], found[i] = w.row.Args, w.search[0].Args
	}
	written = len(writes)
	_, err = sqlite.Run(b.app, []sqlite.Statement{sqlite.Repeat(writes[0].row.Text, rows)})
	var stopped *sqlite.RepeatError
	if errors.As(err, &stopped) {
		var refused fault.Fields
		if err = tx.schema.refused(stopped.Err); errors.As(err, &refused) && stopped.Done > 0 {
			written, err = stopped.Done, nil
		}
	}
	if err == nil {
		_, err = sqlite.Run(b.app, []sqlite.Statement{sqlite.Repeat(writes[0].search[0].Text, found[:written])})
	}
	if err != nil {
		return 0, fmt.Errorf("writing %d contacts: %w", len(writes), err)
	}
	return written, nil
}

// Close writes everything that was gathered. The batch may be used again.
func (b *Batch) Close() error {
	if err := b.Flush(); err != nil {
		return err
	}
	if err := b.events.Flush(b.app); err != nil {
		return err
	}
	gone := b.gone
	b.gone = nil
	if len(gone) == 0 {
		return nil
	}
	return b.erase(b.app, b.tenantID, gone...)
}
