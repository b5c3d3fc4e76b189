package list

import (
	"context"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
)

// eachPage is how many contacts are read at once.
const eachPage = 500

// Each calls do for each of the tenant's contacts that the query selects, until ctx ends or do returns an error. It reads page by page, and
// ignores the limit, the offset and the cursor of the query.
func (r *Reader) Each(ctx context.Context, app core.App, tenantID string, q Query, do func(*contact.Contact) error) error {
	q.Limit, q.Offset, q.Cursor = eachPage, 0, nil
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := r.Page(app, tenantID, q)
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
