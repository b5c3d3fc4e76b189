package testkit

import (
	"context"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/sqlite"
)

// Create creates a contact like the API does, in the app's transaction if there is one.
func Create(app core.App, tenantID string, changes contact.Changes) (*contact.Contact, error) {
	w, err := commit(app, tenantID, func(tx *contact.Tx) (contact.Write, error) { return contact.Create(tx, tenantID, changes) })
	return w.After, err
}

// Update changes a contact like the API does, in the app's transaction if there is one, and reports whether anything changed.
func Update(app core.App, tenantID, id string, changes contact.Changes) (_ *contact.Contact, changed bool, _ error) {
	w, err := commit(app, tenantID, func(tx *contact.Tx) (contact.Write, error) { return contact.Update(tx, tenantID, id, changes, nil) })
	return w.After, w.Event != nil, err
}

// Upsert creates or changes a contact by its external id like the API does, and reports whether it created it.
func Upsert(app core.App, tenantID string, changes contact.Changes) (_ *contact.Contact, created bool, _ error) {
	w, err := commit(app, tenantID, func(tx *contact.Tx) (contact.Write, error) { return contact.Upsert(tx, tenantID, changes, nil) })
	return w.After, w.Before == nil, err
}

// Delete deletes a contact, in the app's transaction if there is one.
func Delete(app core.App, id string) error {
	record, err := app.FindRecordById(contact.CollectionName, id)
	if err != nil {
		return err
	}
	return app.Delete(record)
}

func commit(app core.App, tenantID string, write func(*contact.Tx) (contact.Write, error)) (w contact.Write, _ error) {
	err := contact.Commit(context.Background(), app, tenantID, func(tx *contact.Tx) (_ []sqlite.Statement, err error) {
		w, err = write(tx)
		return w.Statements, err
	})
	if err != nil {
		return contact.Write{}, err
	}
	return w, nil
}
