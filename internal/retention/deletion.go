// Package retention owns what goes when: the belongings of what was deleted, and what was kept for long enough. All of it
// goes in small steps, so that it holds back nobody who writes, and goes on after a restart.
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

// Delete deletes a record in the caller's transaction, and leaves all that belongs to it to a Sweeper. With the record
// nothing is left that would let a call in or a delivery out. The error is a fault with the code InUse where a
// relation of the admin's requires the record.
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

// Note has a Sweeper remove what is left of a record that the caller's transaction deletes.
func Note(tx core.App, collection, id, detail string) error {
	_, err := sqlite.Run(tx, []sqlite.Statement{{Text: deletedSQL, Args: []any{collection, id, detail, stamp.Stored(time.Now())}}})
	if err != nil {
		return fmt.Errorf("noting the deletion of the record %s: %w", id, err)
	}
	return nil
}

// eraseAtOnce is how many events, and how many inbound requests, are erased in the transaction of a contact's deletion.
const eraseAtOnce = 100

// EraseContact erases what is stored about a contact, in the transaction that deletes it. A Sweeper goes on where there
// is much of it.
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
