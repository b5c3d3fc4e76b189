package contact

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// announce has PocketBase do, once the transaction is committed, what follows the saving of each record that it wrote: the hooks after
// success run, and subscribers get it. By then the app of a transaction is over: Bind puts the one in its place that outlives it.
func (tx *Tx) announce() error {
	transaction := tx.app.TxInfo()
	if transaction == nil {
		return tx.afterCommit()
	}
	transaction.OnComplete(func(failure error) error {
		if failure != nil {
			return nil //nolint:nilerr // the failure is the caller's; there is nothing to tell
		}
		return tx.afterCommit()
	})
	return nil
}

func (tx *Tx) afterCommit() error {
	for _, w := range tx.writes {
		if err := tx.trigger(w); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) trigger(w *Write) error {
	e := &core.ModelEvent{Context: context.Background(), Type: core.ModelEventTypeCreate}
	e.App = tx.app
	record := w.record
	if record == nil {
		var err error
		if record, err = tx.schema.recordOf(w.Event.TenantID, w.Before); err != nil {
			return err
		}
	}
	tx.schema.fill(record, w.Event.TenantID, w.After)
	record.MarkAsNotNew()
	e.Model = record
	if w.Before == nil {
		return tx.app.OnModelAfterCreateSuccess().Trigger(e)
	}
	e.Type = core.ModelEventTypeUpdate
	return tx.app.OnModelAfterUpdateSuccess().Trigger(e)
}

// fill sets the record's fields to those of the contact.
func (s *schema) fill(record *core.Record, tenantID string, c *Contact) {
	record.Id = c.ID
	record.SetRaw("tenant", tenantID)
	for _, field := range Fields {
		record.SetRaw(field.Name, *field.of(c))
	}
	for name, shown := range map[string]string{"created": c.Created, "updated": c.Updated} {
		at, _ := time.Parse(time.RFC3339, shown) // made here, so that it parses
		stored, _ := types.ParseDateTime(at)     // which tries a dozen layouts on a text
		record.SetRaw(name, stored)
	}
}
