package contact_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// book is the contacts of one tenant.
type book struct{ testkit.Book }

func newBook(t *testing.T) *book {
	t.Helper()
	return &book{testkit.NewBook(t)}
}

// create creates a contact as the API does.
func (b *book) create(input map[string]any) (*contact.Contact, error) {
	changes, err := contact.ParseChanges(b.App, input)
	if err != nil {
		return nil, err
	}
	var created *contact.Contact
	err = b.App.RunInTransaction(func(tx core.App) error {
		created, err = testkit.Create(tx, b.Tenant, changes)
		return err
	})
	return created, err
}

func (b *book) update(id string, input map[string]any) (*contact.Contact, error) {
	changes, err := contact.ParseChanges(b.App, input)
	if err != nil {
		return nil, err
	}
	var updated *contact.Contact
	err = b.App.RunInTransaction(func(tx core.App) error {
		updated, _, err = testkit.Update(tx, b.Tenant, id, changes)
		return err
	})
	return updated, err
}
