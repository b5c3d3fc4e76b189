package contact

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// announce runs PocketBase's hooks for saved records, so that subscribers receive the contacts that were written: now, or after the commit
// of the app's transaction. By then the app of the transaction is closed: Bind replaces it by the one that outlives it. A hook that fails is
// logged: the contacts are written, so the caller must not hear of an error and write them again.
func (s *schema) announce(app core.App, writes []*Write) {
	transaction := app.TxInfo()
	if transaction == nil {
		s.triggerAll(app, writes)
		return
	}
	transaction.OnComplete(func(failure error) error {
		if failure == nil {
			s.triggerAll(app, writes)
		}
		return nil
	})
}

func (s *schema) triggerAll(app core.App, writes []*Write) {
	for _, w := range writes {
		if err := s.trigger(app, w); err != nil {
			app.Logger().Error("a hook failed after a contact was written", "contact", w.After.ID, "error", err)
		}
	}
}

func (s *schema) trigger(app core.App, w *Write) error {
	e := &core.ModelEvent{Context: context.Background(), Type: core.ModelEventTypeCreate}
	e.App = app
	record := w.record
	if record == nil {
		var err error
		if record, err = s.recordOf(w.Event.TenantID, w.Before); err != nil {
			return err
		}
	}
	s.fill(record, w.Event.TenantID, w.After)
	record.MarkAsNotNew()
	e.Model = record
	if w.Before == nil {
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
