package hooks

import (
	"errors"
	"maps"
	"time"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/relation"
	"contactbase/internal/retention"
)

func bindContacts(app core.App, wake func()) {
	contact.Bind(app)
	app.OnRecordValidate(contact.CollectionName).BindFunc(validateContact)
	app.OnRecordCreateExecute(contact.CollectionName).BindFunc(createContact)
	app.OnRecordUpdateExecute(contact.CollectionName).BindFunc(updateContact)
	app.OnRecordDeleteExecute(contact.CollectionName).BindFunc(deleteContact)

	afterCommit := func(e *core.RecordEvent) error {
		wake()
		return e.Next()
	}
	app.OnRecordAfterCreateSuccess(contact.CollectionName).BindFunc(afterCommit)
	app.OnRecordAfterUpdateSuccess(contact.CollectionName).BindFunc(afterCommit)
	app.OnRecordAfterDeleteSuccess(contact.CollectionName).BindFunc(afterCommit)
}

// validateContact holds every write path to the rules of the API.
func validateContact(e *core.RecordEvent) error {
	if err := contact.NormalizeRecord(e.Record); err != nil {
		return err
	}
	if err := keepTenant(e.Record); err != nil {
		return err
	}
	// PocketBase's verdict counts first, and both are asked for: what belongs to another tenant is answered like nothing
	ours, err := contact.CheckRecord(e.App, e.Record)
	if err != nil {
		return err
	}
	err = e.Next()
	var verdict validation.Errors
	if len(ours) == 0 || err != nil && !errors.As(err, &verdict) {
		return err
	}
	maps.Copy(ours, verdict)
	return ours
}

func createContact(e *core.RecordEvent) error {
	return inTransaction(e, func(tx core.App) error {
		now := time.Now()
		if err := contact.PlaceNew(tx, e.Record, now); err != nil {
			return err
		}
		if err := e.Next(); err != nil {
			return err
		}
		return contact.Created(tx, e.Record.GetString("tenant"), contact.OfRecord(e.Record), contact.Cause(e.Record), now)
	})
}

func updateContact(e *core.RecordEvent) error {
	return inTransaction(e, func(tx core.App) error {
		// not the record's original: that is as old as the instance
		before, err := contact.Stored(tx, e.Record.Id)
		if err != nil {
			return err
		}
		now := time.Now()
		if err := contact.PlaceUpdated(e.Record, before, now); err != nil {
			return err
		}
		if err := e.Next(); err != nil {
			return err
		}
		return contact.Changed(tx, e.Record.GetString("tenant"), before, contact.OfRecord(e.Record), contact.Cause(e.Record), now)
	})
}

func deleteContact(e *core.RecordEvent) error {
	return inTransaction(e, func(tx core.App) error {
		deleted, err := contact.Stored(tx, e.Record.Id)
		if err != nil {
			return err
		}
		if err := relation.CheckUnused(tx, e.Record); err != nil {
			return err
		}
		if err := e.Next(); err != nil {
			return err
		}
		if err := contact.IndexDeleted(tx, deleted.ID); err != nil {
			return err
		}
		if err := forgetAnswers(tx, deleted.ID); err != nil {
			return err
		}
		if err := store.Emit(tx, &event.Event{
			Kind:     event.ContactDeleted,
			TenantID: e.Record.GetString("tenant"),
			Contact:  deleted.ID,
			Data:     deleted,
			Cause:    contact.Cause(e.Record),
		}, time.Now()); err != nil {
			return err
		}
		return retention.EraseContact(tx, e.Record.GetString("tenant"), deleted)
	})
}

// keepTenant refuses to move a record to another tenant: its events, keys and deliveries would stay behind.
func keepTenant(record *core.Record) error {
	before := record.Original().GetString("tenant")
	if !record.IsNew() && record.GetString("tenant") != before {
		return validation.Errors{"tenant": validation.NewError("validation_tenant_change", "The tenant cannot be changed; create a new record instead.")}
	}
	return nil
}
