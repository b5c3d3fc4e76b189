package contact

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
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

	waiting []creation
	last    *last // nil where it has to be read
	outbox  delivery.Outbox
}

// creation is a contact that waits to be written.
type creation struct {
	schema  *schema
	changes Changes
	contact *Contact
	created string // as it is stored
	done    func(*Contact, error)
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
		folded[i] = foldEmail(email)
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

// HasExternalID tells whether a contact has the external id, or may have got it in this transaction.
func (b *Batch) HasExternalID(externalID string) bool { return !b.freeIDs[externalID] }

// HasEmail tells whether a contact has the e-mail address, or may have got it in this transaction.
func (b *Batch) HasEmail(email string) bool { return !b.freeEmails[foldEmail(email)] }

func (b *Batch) take(c *Contact) {
	delete(b.freeIDs, c.ExternalID)
	delete(b.freeEmails, foldEmail(c.Email))
}

// Create creates a contact, now or when the batch is flushed, and tells done the contact or, as a fault.Fields, why there
// is none.
func (b *Batch) Create(changes Changes, done func(*Contact, error)) error {
	put := false
	err := withSchema(b.tx, func(s *schema) (err error) {
		put, err = b.putOff(s, changes, done)
		return err
	})
	if err != nil || put {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return b.create(changes, done)
}

// putOff has a contact wait, unless it is told at once why there cannot be one. Whether an index refuses it is seen when
// it is written.
func (b *Batch) putOff(s *schema, changes Changes, done func(*Contact, error)) (bool, error) {
	c := &Contact{}
	changes.applyTo(c)
	faultless := s.known(changes) == nil && (c.Name != "" || c.Email != "")
	if !s.shipped || !faultless {
		return false, nil
	}
	tx := sqlite.ReaderOf(b.tx)
	if b.last == nil {
		newest, err := readLast(tx, b.tenantID)
		if err != nil {
			return false, err
		}
		b.last = &newest
	}
	id, at, err := b.last.next(tx, "", time.Now())
	if err != nil {
		return false, err
	}
	b.last = &last{id, at}
	created := stamp.Stored(at)
	c.ID, c.Created, c.Updated = id, stamp.Show(created), stamp.Show(created)
	b.take(c)
	b.waiting = append(b.waiting, creation{s, changes, c, created, done})
	return true, nil
}

// create creates a contact by itself.
func (b *Batch) create(changes Changes, done func(*Contact, error)) error {
	c, err := CreateAlso(b.tx, b.tenantID, changes, Also{outbox: &b.outbox})
	var faults fault.Fields
	if err != nil && !errors.As(err, &faults) {
		return err
	}
	if err == nil {
		b.take(c)
	}
	done(c, err)
	return nil
}

// Update is the function of that name, in the batch.
func (b *Batch) Update(id string, changes Changes) (c *Contact, changed bool, err error) {
	if err := b.Flush(); err != nil {
		return nil, false, err
	}
	c, changed, err = UpdateAlso(b.tx, b.tenantID, id, changes, nil, Also{outbox: &b.outbox})
	if err == nil {
		b.take(c)
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

// Flush writes the contacts that wait. The caller calls it before reading contacts.
func (b *Batch) Flush() error {
	waiting := b.waiting
	b.waiting, b.last = nil, nil
	if len(waiting) == 0 {
		return nil
	}
	if err := b.insert(waiting); err != nil {
		var faults fault.Fields
		if !errors.As(waiting[0].schema.refused(err), &faults) {
			return fmt.Errorf("writing %d contacts: %w", len(waiting), err)
		}
		for _, w := range waiting { // a unique index refuses one of them
			if err := b.create(w.changes, w.done); err != nil {
				return err
			}
		}
		return nil
	}
	tx := sqlite.ReaderOf(b.tx)
	for _, w := range waiting {
		if err := b.outbox.Add(tx, createdEvent(b.tenantID, w.contact, w.changes.cause()), time.Now()); err != nil {
			return err
		}
		if err := w.schema.announce(b.tx, b.tenantID, nil, w.contact); err != nil {
			return err
		}
		w.done(w.contact, nil)
	}
	return nil
}

// insertAllSQL writes contacts of the tenant ?2. ?1 is a JSON list with a list for each of them: its id, its Fields, and
// the time of its creation as it is stored.
var insertAllSQL = func() string {
	query := "INSERT INTO `contacts` (" + writtenColumns + ") SELECT value ->> 0, ?2, "
	for i := range Fields {
		query += fmt.Sprintf("value ->> %d, ", i+1)
	}
	return query + fmt.Sprintf("value ->> %[1]d, value ->> %[1]d FROM json_each(?1)", len(Fields)+1)
}()

const indexAllSQL = "INSERT INTO `_contactSearch` (`contact`, `tenant`, `email`, `text`) " +
	"SELECT value ->> 0, ?2, value ->> 1, value ->> 2 FROM json_each(?1)"

func (b *Batch) insert(waiting []creation) error {
	contacts, rows := make([][]string, len(waiting)), make([][]string, len(waiting))
	for i, w := range waiting {
		c := w.contact
		contacts[i] = append(make([]string, 0, len(Fields)+2), c.ID)
		for _, field := range Fields {
			contacts[i] = append(contacts[i], *field.of(c))
		}
		contacts[i] = append(contacts[i], w.created)
		rows[i] = []string{c.ID, foldEmail(c.Email), searchText(c)}
	}
	contactList, err := json.Marshal(contacts)
	if err != nil {
		return err
	}
	rowList, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = sqlite.Run(b.tx, []sqlite.Statement{
		{Text: insertAllSQL, Args: []any{string(contactList), b.tenantID}},
		{Text: indexAllSQL, Args: []any{string(rowList), b.tenantID}},
	})
	return err
}

// Close writes everything that waits. The batch may be used again.
func (b *Batch) Close() error {
	if err := b.Flush(); err != nil {
		return err
	}
	return b.outbox.Flush(b.tx, time.Now())
}
