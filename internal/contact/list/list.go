// Package list reads contacts page by page: searched, filtered and in order.
package list

import (
	"context"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// Reader reads lists of contacts. The zero Reader is ready for use, by several goroutines at once.
type Reader struct {
	advisor search.Advisor
}

// Page is a page of a list. Next is where the next page begins, nil if there is none.
type Page struct {
	Contacts []*contact.Contact
	Next     *Cursor
}

// Page returns the page of the tenant's contacts that the query asks for.
func (r *Reader) Page(app core.App, tenantID string, q Query) (_ *Page, err error) {
	if q.isFolded, err = r.isFolded(app, q); err != nil {
		return nil, err
	}
	return r.page(app, tenantID, q)
}

// isFolded asks the advisor if the answer matters to the query.
func (r *Reader) isFolded(app core.App, q Query) (bool, error) {
	if len(q.Words) == 0 && !q.sortsNames() {
		return false, nil
	}
	return r.advisor.IsFolded(app)
}

// page is Page for a query that has isFolded.
func (r *Reader) page(app core.App, tenantID string, q Query) (*Page, error) {
	if err := q.checkCursor(); err != nil {
		return nil, err
	}
	match, err := r.match(app, tenantID, q)
	if err != nil {
		return nil, err
	}
	found, err := contact.Select(app, func(columns string) (string, []any) {
		s := newStatement(tenantID, q, columns)
		text := s.reading(match) // it adds parameters
		return text, sqlite.Named(s.params)
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

// match returns how the trigram index finds the contacts, nil if the query reads rows instead.
func (r *Reader) match(app core.App, tenantID string, q Query) (*search.Match, error) {
	if !q.onlySearches() || !q.byTime() || !q.isFolded {
		return nil, nil
	}
	return r.advisor.Match(app, tenantID, q.Words)
}

// maxCount is how many contacts Count counts at most.
const maxCount = 100_000

// Count returns how many of the tenant's contacts the filter selects. It stops at 100,000, and more reports whether
// there are more.
func (r *Reader) Count(app core.App, tenantID string, f Filter) (count int, more bool, err error) {
	q := Query{Filter: f, Limit: maxCount, Sort: defaultSort}
	if q.isFolded, err = r.isFolded(app, q); err != nil {
		return 0, false, err
	}
	match, err := r.match(app, tenantID, q)
	if err != nil {
		return 0, false, err
	}
	s := newStatement(tenantID, q, "")
	text := s.counting(match) // it adds parameters
	count, err = sqlite.Value[int](sqlite.Direct(app.ConcurrentDB()), text, sqlite.Named(s.params)...)
	if err != nil {
		return 0, false, q.withoutIndex(fmt.Errorf("counting contacts: %w", err))
	}
	return min(count, maxCount), count > maxCount, nil
}

// eachPage is how many contacts are read at once.
const eachPage = 500

// Each calls do for each of the tenant's contacts that the query selects, until ctx ends or do returns an error. It
// reads page by page, and ignores the limit, the offset and the cursor of the query.
func (r *Reader) Each(
	ctx context.Context, app core.App, tenantID string, q Query, do func(*contact.Contact) error,
) error {
	q.Limit, q.Offset, q.Cursor = eachPage, 0, nil
	var err error
	if q.isFolded, err = r.isFolded(app, q); err != nil { // the order stays the same from page to page
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := r.inTurn(ctx, app, tenantID, q)
		if err != nil {
			return err
		}
		for _, c := range page.Contacts {
			if err := do(c); err != nil {
				return err
			}
		}
		if page.Next == nil {
			return nil
		}
		q.Cursor = page.Next
	}
}

// inTurn reads a page in a turn of the query.
func (r *Reader) inTurn(ctx context.Context, app core.App, tenantID string, q Query) (*Page, error) {
	if q.Turn != nil {
		release, err := q.Turn(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return r.page(app, tenantID, q)
}
