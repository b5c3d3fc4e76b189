package list_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

// book is the contacts of one tenant, and how they are listed.
type book struct {
	t      *testing.T
	app    core.App
	tenant string
	lists  *list.Reader
}

func newBook(t *testing.T) *book {
	t.Helper()
	app := testkit.NewApp(t)
	return &book{t, app, testkit.Tenant(t, app, "Acme"), &list.Reader{}}
}

// other returns the contacts of another tenant in the same app.
func (b *book) other() *book {
	return &book{b.t, b.app, testkit.Tenant(b.t, b.app, "Other"), b.lists}
}

// changes returns what the API makes of the input.
func (b *book) changes(input map[string]any) contact.Changes {
	b.t.Helper()
	changes, err := contact.ParseChanges(b.app, input)
	if err != nil {
		b.t.Fatalf("%v: %v", input, err)
	}
	return changes
}

func (b *book) add(input map[string]any) *contact.Contact {
	b.t.Helper()
	created, err := contact.Create(b.app, b.tenant, b.changes(input))
	if err != nil {
		b.t.Fatalf("creating %v: %v", input, err)
	}
	return created
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
	page, err := b.lists.Page(b.app, b.tenant, parsed)
	if err != nil {
		b.t.Fatalf("%q: %v", query, err)
	}
	return page.Contacts
}

// search returns the external ids of the contacts that q finds, in the order of the list.
func (b *book) search(q string) string {
	b.t.Helper()
	var found []string
	for _, c := range b.list("limit=200&q=" + url.QueryEscape(q)) {
		found = append(found, c.ExternalID)
	}
	return strings.Join(found, " ")
}

func (b *book) expect(q, want string) {
	b.t.Helper()
	if got := b.search(q); got != want {
		b.t.Errorf("q=%q finds %q, not %q", q, got, want)
	}
}

// expectAll expects the searches to find the external ids that they stand under.
func (b *book) expectAll(searches map[string][]string) {
	b.t.Helper()
	for want, queries := range searches {
		for _, q := range queries {
			b.expect(q, want)
		}
	}
}
