// Package retention deletes the dependents of deleted records, and records that have been kept for long enough. It
// works in small chunks, so that it does not block other writers, and continues after a restart.
package retention

import (
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const deletedSQL = "INSERT OR IGNORE INTO `_deletions` (`created`, `collection`, `record`, `detail`) " +
	"VALUES (?, ?, ?, ?)"

// Delete deletes a record in the caller's transaction, and leaves its dependents to the sweeper. From then on nothing
// authenticates calls for it or sends deliveries for it. The error is a fault with the code InUse if a relation that
// an admin has added requires the record.
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

// note makes the sweeper delete the dependents of records that the caller's transaction deletes, each given by
// its id and a detail.
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

// EraseContact makes the sweeper erase the stored data about a contact of a tenant, in the transaction that
// deletes it. Only the responses that are remembered for repeats are erased at once: no repeat answers with a
// contact that is gone.
func EraseContact(tx core.App, tenantID string, deleted *contact.Contact) error {
	if err := idempotency.Erase(tx, []string{deleted.ID}); err != nil {
		return err
	}
	people := strings.Join(inbound.People(tenantID, deleted.ID, deleted.Email), " ")
	return note(tx, contact.CollectionName, []any{deleted.ID, people})
}
