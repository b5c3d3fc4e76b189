package contact

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// announce runs PocketBase's hooks for saved records about contacts that were written without saving one: now, or after
// the commit of the app's transaction. With them, subscribers receive the contacts, and Bind's hook wakes the delivery
// engine. By then the app of the transaction is closed: Bind replaces it by one that is open. A hook that fails is
// logged: the contacts are written, and with an error the caller would write them again. Deletions go through records,
// which PocketBase announces.
func announce(app core.App, tenantID string, s *schema, written []*change) {
	trigger := func(failure error) error {
		if failure != nil {
			return nil //nolint:nilerr // nothing was written, and the writer has the error
		}
		for _, c := range written {
			if c.after == nil {
				continue
			}
			if err := s.trigger(app, tenantID, c); err != nil {
				app.Logger().Error("a hook failed after a contact was written", "contact", c.after.ID, "error", err)
			}
		}
		return nil
	}
	if transaction := app.TxInfo(); transaction != nil {
		transaction.OnComplete(trigger)
		return
	}
	_ = trigger(nil)
}

func (s *schema) trigger(app core.App, tenantID string, c *change) error {
	e := &core.ModelEvent{Context: context.Background(), Type: core.ModelEventTypeCreate}
	e.App = app
	record := c.record
	if record == nil {
		var err error
		if record, err = s.recordOf(tenantID, c.before); err != nil {
			return err
		}
	}
	s.fill(record, tenantID, c.after)
	record.MarkAsNotNew()
	e.Model = record
	if c.before == nil {
		return app.OnModelAfterCreateSuccess().Trigger(e)
	}
	e.Type = core.ModelEventTypeUpdate
	return app.OnModelAfterUpdateSuccess().Trigger(e)
}

// fill sets the record's fields to those of the contact.
func (s *schema) fill(record *core.Record, tenantID string, c *Contact) {
	record.Id = c.ID
	record.SetRaw("tenant", tenantID)
	for _, field := range Fields {
		record.SetRaw(field.Name, *field.of(c))
	}
	for name, shown := range map[string]string{"created": c.Created, "updated": c.Updated} {
		at, _ := time.Parse(time.RFC3339, shown) // written by this program, so it is valid
		setTime(record, name, at)
	}
}
