// Package list reads contacts page by page: searched, filtered and in order.
package list

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
)

// Reader reads lists of contacts. The zero Reader is ready for use, by several goroutines at once.
type Reader struct {
	advisor   search.Advisor
	positions positions
}

// Page is a page of a list. Next is where the next page begins, nil if there is none.
type Page struct {
	Contacts []*contact.Contact
	Next     *Cursor
}

// Page returns a page of the tenant's contacts.
func (r *Reader) Page(app core.App, tenantID string, q Query) (*Page, error) {
	if q.remembers() {
		return r.pageAtDepth(app, tenantID, q)
	}
	return r.read(app, tenantID, q)
}

// read returns the page that the query asks for: after its cursor, and from there after its offset.
func (r *Reader) read(app core.App, tenantID string, q Query) (*Page, error) {
	var match *search.Match
	if q.onlySearches() && q.byTime() {
		var err error
		if match, err = r.advisor.Match(app, tenantID, q.Words); err != nil {
			return nil, err
		}
	}
	found, err := contact.Select(app, func(columns string) (string, []any) {
		s := newStatement(tenantID, q, columns)
		if match != nil {
			return s.throughTrigrams(match), s.params.named()
		}
		return s.throughRows(), s.params.named()
	})
	if err != nil {
		return nil, q.withoutIndex(err)
	}
	page := &Page{Contacts: found}
	if len(found) > q.Limit { // one more than the limit was read, to know whether there are more
		page.Contacts = found[:q.Limit]
		page.Next = q.cursorAfter(page.Contacts[q.Limit-1])
	}
	return page, nil
}
