package contact_test

import (
	"net/url"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

// book is the contacts of one tenant.
type book struct {
	t      *testing.T
	app    core.App
	tenant string
}

func newBook(t *testing.T) *book {
	t.Helper()
	app := testkit.NewApp(t)
	return &book{t, app, testkit.Tenant(t, app, "Acme")}
}

// other returns the contacts of another tenant in the same app.
func (b *book) other() *book {
	return &book{b.t, b.app, testkit.Tenant(b.t, b.app, "Other")}
}

// create creates a contact as the API does.
func (b *book) create(input map[string]any) (*contact.Contact, error) {
	changes, err := contact.ParseChanges(b.app, input)
	if err != nil {
		return nil, err
	}
	var created *contact.Contact
	err = b.app.RunInTransaction(func(tx core.App) error {
		created, err = contact.Create(tx, b.tenant, changes)
		return err
	})
	return created, err
}

func (b *book) add(input map[string]any) *contact.Contact {
	b.t.Helper()
	created, err := b.create(input)
	if err != nil {
		b.t.Fatalf("creating %v: %v", input, err)
	}
	return created
}

func (b *book) update(id string, input map[string]any) (*contact.Contact, error) {
	changes, err := contact.ParseChanges(b.app, input)
	if err != nil {
		return nil, err
	}
	var updated *contact.Contact
	err = b.app.RunInTransaction(func(tx core.App) error {
		updated, _, err = contact.Update(tx, b.tenant, id, changes, nil)
		return err
	})
	return updated, err
}

// list returns the contacts of a query, as it stands behind the question mark of an address.
func (b *book) list(query string) []*contact.Contact {
	b.t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		b.t.Fatalf("%q: %v", query, err)
	}
	parsed, err := list.ParseQuery(values)
	if err != nil {
		b.t.Fatalf("%q: %v", query, err)
	}
	page, err := new(list.Reader).Page(b.app, b.tenant, parsed)
	if err != nil {
		b.t.Fatalf("%q: %v", query, err)
	}
	return page.Contacts
}
