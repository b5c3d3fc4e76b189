package list

import (
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
)

// nearby is the number of contacts that are skipped without remembering the position.
const nearby = 200

// position is just after the first rank contacts of a list.
type position struct {
	rank   int
	cursor *Cursor // nil at the start of the list
}

// pageAtDepth returns a page of a list that begins at an offset, starting from the nearest remembered position,
// because SQLite reads everything before an offset. Every change of an order writes an event. So positions are valid
// for as long as the tenant's feed has the same end, which it never has again later. If the end is the same before
// and after the page is read, nothing changed meanwhile.
func (r *Reader) pageAtDepth(app core.App, tenantID string, q Query) (*Page, error) {
	name := q.list(tenantID)
	before, err := event.End(app, tenantID, nil)
	if err != nil {
		return nil, err
	}
	from := r.positions.nearest(name, before, q.Offset)
	page, reached, err := r.pageFrom(app, tenantID, q, from)
	if err != nil {
		return nil, err
	}
	after, err := event.End(app, tenantID, nil)
	switch {
	case err != nil:
		return nil, err
	case after == before:
		r.positions.remember(name, before, reached)
	case from.cursor != nil:
		return r.read(app, tenantID, q)
	}
	return page, nil
}

// pageFrom returns the page at the offset of the query, which is after a position of the same list, and the position
// where the page begins, without a cursor if it is not worth remembering.
func (r *Reader) pageFrom(
	app core.App, tenantID string, q Query, from position,
) (page *Page, reached position, err error) {
	q.Cursor, q.Offset = from.cursor, q.Offset-from.rank
	if q.Offset <= nearby {
		page, err = r.read(app, tenantID, q)
		return page, reached, err
	}
	reached.rank = from.rank + q.Offset
	q.Offset-- // the position is just after the contact before the page
	q.Limit++
	if page, err = r.read(app, tenantID, q); err == nil && len(page.Contacts) > 0 {
		reached.cursor = q.cursorAfter(page.Contacts[0])
		page.Contacts = page.Contacts[1:]
	}
	return page, reached, err
}

// remembers reports whether an offset of the query is worth remembering and can be remembered. Lists by the time of
// change cannot: a change that callers do not see sets that time, but writes no event.
func (q *Query) remembers() bool {
	if q.Cursor != nil || q.Offset <= nearby || len(q.Equal) > 0 || len(q.Indexed) > 0 || len(q.Times) > 0 {
		return false
	}
	return q.byTime() || len(q.Words) == 0 && orders[q.Sort].column != orders["updatedAt"].column
}

// list identifies the list whose page the query asks for.
func (q *Query) list(tenantID string) string {
	return strings.Join(append([]string{tenantID, string(q.Sort)}, q.Words...), " ")
}
