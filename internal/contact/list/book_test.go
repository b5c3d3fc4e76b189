package list_test

import (
	"net/url"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// book is the contacts of one tenant, and how they are searched.
type book struct{ testkit.Book }

func newBook(t *testing.T) *book {
	t.Helper()
	return &book{testkit.NewBook(t)}
}

// search returns the external ids of the contacts that q finds, in the order of the list.
func (b *book) search(q string) string {
	b.TB.Helper()
	var found []string
	for _, c := range b.List("limit=200&q=" + url.QueryEscape(q)) {
		found = append(found, c.ExternalID)
	}
	return strings.Join(found, " ")
}

func (b *book) expect(q, want string) {
	b.TB.Helper()
	if got := b.search(q); got != want {
		b.TB.Errorf("q=%q finds %q, not %q", q, got, want)
	}
}

// expectAll expects the searches to find the external ids that they stand under.
func (b *book) expectAll(searches map[string][]string) {
	b.TB.Helper()
	for want, queries := range searches {
		for _, q := range queries {
			b.expect(q, want)
		}
	}
}
