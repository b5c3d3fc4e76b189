package list

import (
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
)

// nearby is how many contacts are passed over without remembering where that led to.
const nearby = 200

// place is right behind so many contacts of a list.
type place struct {
	rank   int
	cursor *Cursor // nil at the start of the list
}

// pageAtDepth returns a page of a list that begins at an offset, from the nearest place that is remembered: SQLite has to pass over
// everything in front of an offset. Every change of an order writes an event, so that what is remembered holds for as long as the
// tenant's feed has the same end, which is never again an old one. That it is the same afterwards tells that it was so while the page
// was read.
func (r *Reader) pageAtDepth(app core.App, tenantID string, q Query) (*Page, error) {
	name := q.list(tenantID)
	before, err := event.End(app, tenantID, nil)
	if err != nil {
		return nil, err
	}
	from := r.places.nearest(name, before, q.Offset)
	page, reached, err := r.pageFrom(app, tenantID, q, from)
	if err != nil {
		return nil, err
	}
	after, err := event.End(app, tenantID, nil)
	switch {
	case err != nil:
		return nil, err
	case after == before:
		r.places.remember(name, before, reached)
	case from.cursor != nil:
		return r.read(app, tenantID, q)
	}
	return page, nil
}

// pageFrom returns the page at the offset of the query, which is behind a place of the same list, and the place where the page begins,
// without a cursor if that is not worth remembering.
func (r *Reader) pageFrom(app core.App, tenantID string, q Query, from place) (page *Page, reached place, err error) {
	q.Cursor, q.Offset = from.cursor, q.Offset-from.rank
	if q.Offset <= nearby {
		page, err = r.read(app, tenantID, q)
		return page, reached, err
	}
	reached.rank = from.rank + q.Offset
	q.Offset-- // the contact in front of the page is where it begins
	q.Limit++
	if page, err = r.read(app, tenantID, q); err == nil && len(page.Contacts) > 0 {
		reached.cursor = q.cursorBehind(page.Contacts[0])
		page.Contacts = page.Contacts[1:]
	}
	return page, reached, err
}

// remembers reports whether an offset of the query is worth remembering, and can be: a change that callers cannot see writes no event,
// though it is one of the time of the change.
func (q *Query) remembers() bool {
	if q.Cursor != nil || q.Offset <= nearby || len(q.Equal) > 0 || q.UpdatedSince != nil {
		return false
	}
	return q.byTime() || len(q.Words) == 0 && orders[q.Sort].column != orders["updatedAt"].column
}

// list names the list whose page the query asks for.
func (q *Query) list(tenantID string) string {
	return strings.Join(append([]string{tenantID, string(q.Sort)}, q.Words...), " ")
}
