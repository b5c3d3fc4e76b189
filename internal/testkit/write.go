package testkit

import (
	"context"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/sqlite"
)

// Create creates a contact like the API does, in the app's transaction if there is one.
func Create(app core.App, tenantID string, changes contact.Changes) (*contact.Contact, error) {
	result, err := Commit(app, tenantID, contact.Item{Action: contact.Create, Changes: changes})
	return result.Contact, err
}

// Update changes a contact like the API does, in the app's transaction if there is one, and reports whether
// anything changed.
func Update(app core.App, tenantID, id string, changes contact.Changes) (_ *contact.Contact, changed bool, _ error) {
	result, err := Commit(app, tenantID,
		contact.Item{Action: contact.Update, Keys: []contact.Key{{Field: contact.ID, Value: id}}, Changes: changes})
	return result.Contact, result.Status == contact.Updated, err
}

// Upsert creates or changes a contact by its external id like the API does, and reports whether it created it.
func Upsert(app core.App, tenantID string, changes contact.Changes) (_ *contact.Contact, created bool, _ error) {
	externalID, _ := changes[contact.ExternalID].(string)
	result, err := Commit(app, tenantID, contact.Item{
		Action: contact.Upsert, Keys: []contact.Key{{Field: contact.ExternalID, Value: externalID}}, Changes: changes,
	})
	return result.Contact, result.Status == contact.Created, err
}

// Commit writes an item like the API does, in the app's transaction if there is one. The error is a fault.Fields if
// the item is invalid.
func Commit(app core.App, tenantID string, item contact.Item) (result contact.Result, _ error) {
	request := contact.Request{
		Tenant: tenantID, Items: []contact.Item{item}, Check: func(sqlite.Reader) error { return nil },
		Finish: func(_ sqlite.Reader, results []contact.Result) ([]sqlite.Statement, error) {
			result = results[0]
			if result.Wrong != nil && result.Wrong.Fields != nil {
				return nil, result.Wrong.Fields
			}
			return nil, result.Err()
		},
	}
	return result, request.Commit(context.Background(), app)
}

// Delete deletes a contact, in the app's transaction if there is one.
func Delete(app core.App, id string) error {
	record, err := app.FindRecordById(contact.CollectionName, id)
	if err != nil {
		return err
	}
	return app.Delete(record)
}
