package testkit

import (
	"net/url"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
)

// Book has the contacts of one tenant, written and listed like the API does.
type Book struct {
	TB     testing.TB
	App    core.App
	Tenant string
	Lists  *list.Reader
}

// NewBook returns the empty book of a tenant in a fresh app.
func NewBook(tb testing.TB) Book {
	tb.Helper()
	app := NewApp(tb)
	return Book{tb, app, Tenant(tb, app, "Acme"), &list.Reader{}}
}

// Other returns the empty book of another tenant in the same app.
func (b *Book) Other() *Book {
	b.TB.Helper()
	return &Book{b.TB, b.App, Tenant(b.TB, b.App, "Other"), b.Lists}
}

// Changes parses the input of a request.
func (b *Book) Changes(input map[string]any) contact.Changes {
	b.TB.Helper()
	changes, err := contact.ParseChanges(b.App, input)
	if err != nil {
		b.TB.Fatalf("%v: %v", input, err)
	}
	return changes
}

// Add creates a contact.
func (b *Book) Add(input map[string]any) *contact.Contact {
	b.TB.Helper()
	created, err := Create(b.App, b.Tenant, b.Changes(input))
	if err != nil {
		b.TB.Fatalf("creating %v: %v", input, err)
	}
	return created
}

// List returns the contacts of a query string.
func (b *Book) List(query string) []*contact.Contact {
	b.TB.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		b.TB.Fatalf("%q: %v", query, err)
	}
	parsed, err := list.ParsePage(b.App, values)
	if err != nil {
		b.TB.Fatalf("%q: %v", query, err)
	}
	page, err := b.Lists.Page(b.App, b.Tenant, parsed)
	if err != nil {
		b.TB.Fatalf("%q: %v", query, err)
	}
	return page.Contacts
}
