package contact

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/search"
	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Batch writes many contacts of a tenant in one transaction. New contacts wait for each other, and so do events: written
// together they take a third of the time.
type Batch struct {
	tx       core.App
	tenantID string

	freeIDs    map[string]bool // external ids that no contact has
	freeEmails map[string]bool // e-mail addresses, folded, that no contact has

	waiting []newcomer
	events  event.Batch
}

// newcomer is a contact that waits to be written.
type newcomer struct {
	changes Changes
	done    func(c *Contact, refused fault.Fields)
}

const (
	usedIDsSQL    = "SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM contacts WHERE tenant = ?2 AND externalId = value AND externalId != '')"
	usedEmailsSQL = "SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM _contactSearch WHERE tenant = ?2 AND email = value AND email != '')"
)

// NewBatch returns a batch in the transaction of tx. The external ids and e-mail addresses are those by which contacts
// will be looked for.
func NewBatch(tx core.App, tenantID string, externalIDs, emails []string) (b *Batch, err error) {
	b = &Batch{tx: tx, tenantID: tenantID}
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

// without returns those values that the query does not list.
func (b *Batch) without(values []string, usedSQL string) (map[string]bool, error) {
	free := make(map[string]bool, len(values))
	for _, value := range values {
		free[value] = true
	}
	list, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	rows, err := sqlite.ReaderOf(b.tx).Query(usedSQL, string(list), b.tenantID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var used string
		if err := rows.Scan(&used); err != nil {
			return nil, err
		}
		delete(free, used)
	}
	return free, rows.Err()
}

// Find is the function of that name, in the batch.
func (b *Batch) Find(id string) (*Contact, error) { return b.find(Find, id, false) }

// FindByExternalID is the function of that name, in the batch.
func (b *Batch) FindByExternalID(externalID string) (*Contact, error) {
	return b.find(FindByExternalID, externalID, b.freeIDs[externalID])
}

// FindByEmail is the function of that name, in the batch.
func (b *Batch) FindByEmail(email string) (*Contact, error) {
	return b.find(FindByEmail, email, b.freeEmails[search.FoldEmail(email)])
}

// FindUnlinkedByEmail is the function of that name, in the batch.
func (b *Batch) FindUnlinkedByEmail(email string) (*Contact, error) {
	return b.find(FindUnlinkedByEmail, email, b.freeEmails[search.FoldEmail(email)])
}

// find finds a contact by a key, which may be free for certain.
func (b *Batch) find(by func(app core.App, tenantID, key string) (*Contact, error), key string, free bool) (*Contact, error) {
	if free {
		return nil, ErrNotFound
	}
	if err := b.Flush(); err != nil {
		return nil, err
	}
	return by(b.tx, b.tenantID, key)
}

func (b *Batch) take(externalID, email string) {
	delete(b.freeIDs, externalID)
	delete(b.freeEmails, search.FoldEmail(email))
}

// Create creates a contact when the batch is flushed, and tells done the contact then, or why it was refused.
func (b *Batch) Create(changes Changes, done func(c *Contact, refused fault.Fields)) {
	c := &Contact{}
	changes.applyTo(c)
	b.take(c.ExternalID, c.Email)
	b.waiting = append(b.waiting, newcomer{changes, done})
}

// Update is the function of that name, in the batch.
func (b *Batch) Update(id string, changes Changes) (c *Contact, changed bool, err error) {
	if err := b.Flush(); err != nil {
		return nil, false, err
	}
	c, changed, err = UpdateAlso(b.tx, b.tenantID, id, changes, nil, Also{events: &b.events})
	if err == nil {
		b.take(c.ExternalID, c.Email)
	}
	return c, changed, err
}

// Delete is the function of that name, in the batch. Where it fails, what it did until then is undone.
func (b *Batch) Delete(id, cause string) error {
	if err := b.Close(); err != nil { // a deletion writes its own event
		return err
	}
	return sqlite.Savepoint(b.tx, func() error { return Delete(b.tx, b.tenantID, id, cause) })
}

// Flush writes the contacts that wait.
func (b *Batch) Flush() error {
	waiting := b.waiting
	b.waiting = nil
	for len(waiting) > 0 {
		created, err := b.createTogether(waiting)
		if err != nil {
			return err
		}
		if waiting = waiting[created:]; len(waiting) == 0 {
			break
		}
		if err := b.createAlone(waiting[0]); err != nil {
			return err
		}
		waiting = waiting[1:]
	}
	return nil
}

// createAlone creates a contact, or tells why it is refused.
func (b *Batch) createAlone(w newcomer) error {
	c, err := CreateAlso(b.tx, b.tenantID, w.changes, Also{events: &b.events})
	var refused fault.Fields
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	w.done(c, refused)
	return nil
}

// createTogether creates contacts one behind the other, and returns how many: up to the first one that is refused. It creates none
// where the collection has fields of the admin's.
func (b *Batch) createTogether(waiting []newcomer) (created int, err error) {
	err = withSchema(b.tx, func(s *schema) error {
		if !s.shipped {
			return nil
		}
		if refused := slices.IndexFunc(waiting, func(w newcomer) bool { return !s.faultless(w.changes) }); refused >= 0 {
			waiting = waiting[:refused]
		}
		contacts, err := b.placed(waiting)
		if err != nil {
			return err
		}
		if created, err = b.insert(s, contacts); err != nil {
			return fmt.Errorf("writing %d contacts: %w", len(contacts), err)
		}
		for i, c := range contacts[:created] {
			if err := b.events.Add(sqlite.ReaderOf(b.tx), creation(b.tenantID, c, waiting[i].changes.cause()).event, time.Now()); err != nil {
				return err
			}
			if err := s.announce(b.tx, b.tenantID, nil, c); err != nil {
				return err
			}
			waiting[i].done(c, nil)
		}
		return nil
	})
	return created, err
}

// faultless tells whether nothing is wrong with the changes as those of a new contact.
func (s *schema) faultless(changes Changes) bool {
	return s.known(changes) == nil && (changes["name"] != nil && changes["name"] != "" || changes["email"] != nil && changes["email"] != "")
}

// placed returns the contacts as they will be, with ids and times behind the tenant's newest.
func (b *Batch) placed(waiting []newcomer) ([]*Contact, error) {
	tx := sqlite.ReaderOf(b.tx)
	newest, err := readLast(tx, b.tenantID)
	if err != nil {
		return nil, err
	}
	contacts := make([]*Contact, len(waiting))
	for i, w := range waiting {
		id, at, err := newest.next(tx, "", time.Now())
		if err != nil {
			return nil, err
		}
		newest = last{b.tenantID, id, at}
		c := &Contact{ID: id, Created: stamp.Shown(at), Updated: stamp.Shown(at)}
		w.changes.applyTo(c)
		contacts[i] = c
	}
	return contacts, nil
}

// insert writes contacts and returns how many: up to the first one that a unique index refuses.
func (b *Batch) insert(s *schema, contacts []*Contact) (written int, err error) {
	lists, rows := make([][]any, len(contacts)), make([]search.Row, len(contacts))
	for i, c := range contacts {
		lists[i] = insertion(b.tenantID, c, stamp.Store(c.Created)).Args
		rows[i] = searchRow(b.tenantID, c)
	}
	written = len(contacts)
	_, err = sqlite.Run(b.tx, []sqlite.Statement{sqlite.Repeat(insertSQL, lists)})
	var stopped *sqlite.RepeatError
	var refused fault.Fields
	if errors.As(err, &stopped) && errors.As(s.refused(stopped.Err), &refused) {
		written, err = stopped.Done, nil
	}
	if err == nil {
		_, err = sqlite.Run(b.tx, []sqlite.Statement{search.InsertAll(rows[:written])})
	}
	return written, err
}

// Close writes everything that waits. The batch may be used again.
func (b *Batch) Close() error {
	if err := b.Flush(); err != nil {
		return err
	}
	return b.events.Flush(b.tx)
}
