package sheet

import (
	"context"
	"io"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
)

// Export writes the contacts of the tenant that the query selects, those of all pages.
func Export(ctx context.Context, app core.App, lists *list.Reader, tenantID string, query list.Query, to io.Writer) error {
	custom, err := contact.CustomNames(app)
	if err != nil {
		return err
	}
	writer, err := NewContactWriter(to, custom)
	if err != nil {
		return err
	}
	if err := lists.Each(ctx, app, tenantID, query, writer.WriteContact); err != nil {
		return err
	}
	return writer.Flush()
}
