package sheet

import (
	"context"
	"io"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
)

// Export writes all contacts of the tenant that the query selects, and returns their number. The error is
// xlsx.ErrFull if they do not fit in a workbook.
func Export(
	ctx context.Context, app core.App, lists *list.Reader,
	tenantID string, query list.Query, format Format, to io.Writer,
) (contacts int, err error) {
	custom, err := contact.CustomFields(app)
	if err != nil {
		return 0, err
	}
	writer, err := NewContactWriter(to, format, custom)
	if err != nil {
		return 0, err
	}
	err = lists.Each(ctx, app, tenantID, query, func(c *contact.Contact) error {
		contacts++
		return writer.WriteContact(c)
	})
	if err != nil {
		return 0, err
	}
	return contacts, writer.Close()
}
