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

const deletedSQL = "INSERT OR IGNORE INTO `_deletions` (`collection`, `record`, `detail`, `created`) VALUES (?, ?, ?, ?)"

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
	return Note(tx, record.Collection().Name, record.Id, "")
}

// Note makes the sweeper delete the dependents of a record that the caller's transaction deletes.
func Note(tx core.App, collection, id, detail string) error {
	_, err := sqlite.Run(tx, []sqlite.Statement{{Text: deletedSQL, Args: []any{collection, id, detail, stamp.Stored(time.Now())}}})
	if err != nil {
		return fmt.Errorf("recording the deletion of the record %s: %w", id, err)
	}
	return nil
}

// eraseAtOnce is how many events, and how many inbound requests, the transaction of a contact's deletion erases.
const eraseAtOnce = 100

// EraseContact erases the stored data about a contact, in the transaction that deletes it. If there is much, the sweeper erases the rest.
func EraseContact(tx core.App, deliveries delivery.Participant, tenantID string, c *contact.Contact) error {
	if err := idempotency.Forget(tx, c.ID); err != nil {
		return err
	}
	_, events, err := deliveries.EraseContact(tx, c.ID, 0, eraseAtOnce)
	if err != nil {
		return err
	}
	people := inbound.People(tenantID, c.ID, c.Email)
	requests, err := inbound.Erase(tx, people, eraseAtOnce)
	if err != nil || events < eraseAtOnce && requests < eraseAtOnce {
		return err
	}
	return Note(tx, contact.CollectionName, c.ID, strings.Join(people, " "))
}
