// Package retention deletes the dependents of deleted records, and records that have been kept for long enough. It works in small chunks, so
// that it does not block other writers, and continues after a restart.
package retention

import (
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/delivery"
	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const deletedSQL = "INSERT OR IGNORE INTO `_deletions` (`created`, `collection`, `record`, `detail`) VALUES (?, ?, ?, ?)"

// Delete deletes a record in the caller's transaction, and leaves its dependents to the sweeper. From then on nothing authenticates calls for
// it or sends deliveries for it. The error is a fault with the code InUse if a relation that an admin has added requires the record.
func Delete(tx core.App, record *core.Record) error {
	if err := relation.CheckUnused(tx, record); err != nil {
		return err
	}
	_, err := tx.DB().Delete(record.TableName(), dbx.HashExp{"id": record.Id}).Execute()
	if err != nil {
		return fmt.Errorf("deleting the record %s: %w", record.Id, err)
	}
	return note(tx, record.Collection().Name, []any{record.Id, ""})
}

// note makes the sweeper delete the dependents of records that the caller's transaction deletes, each given by its id and a detail.
func note(tx core.App, collection string, deleted ...[]any) error {
	if len(deleted) == 0 {
		return nil
	}
	now, rows := stamp.Stored(time.Now()), make([][]any, len(deleted))
	for i, values := range deleted {
		rows[i] = append([]any{now, collection}, values...)
	}
	if _, err := sqlite.Run(tx, []sqlite.Statement{sqlite.Repeat(deletedSQL, rows)}); err != nil {
		return fmt.Errorf("recording %d deletions of %s: %w", len(deleted), collection, err)
	}
	return nil
}

const (
	// eraseAtOnce is how many events, and how many inbound requests, of a contact the transaction of its deletion erases.
	eraseAtOnce = 100
	// fewContacts is how many contacts a transaction erases.
	fewContacts = 10
)

// EraseContacts erases the stored data about contacts of a tenant, in the transaction that deletes them. If there is much, the sweeper erases
// the rest.
func EraseContacts(tx core.App, deliveries delivery.Participant, tenantID string, deleted []*contact.Contact) error {
	ids, later := make([]string, len(deleted)), make([][]any, 0, len(deleted))
	for i, c := range deleted {
		ids[i] = c.ID
		people, all := inbound.People(tenantID, c.ID, c.Email), false
		if len(deleted) <= fewContacts {
			var err error
			if all, err = eraseContact(tx, deliveries, c.ID, people); err != nil {
				return err
			}
		}
		if !all {
			later = append(later, []any{c.ID, strings.Join(people, " ")})
		}
	}
	if err := idempotency.Erase(tx, ids); err != nil {
		return err
	}
	return note(tx, contact.CollectionName, later...)
}

// eraseContact erases stored data about a contact, and reports whether that was all. In inbound requests, people are its identifiers.
func eraseContact(tx core.App, deliveries delivery.Participant, id string, people []string) (all bool, err error) {
	_, events, err := deliveries.EraseContact(tx, id, 0, eraseAtOnce)
	if err != nil {
		return false, err
	}
	requests, err := inbound.Erase(tx, people, eraseAtOnce)
	return events < eraseAtOnce && requests < eraseAtOnce, err
}
