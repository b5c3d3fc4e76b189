package integrations

import (
	"net/http"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/list"
	"contactbase/internal/tenant"
)

// listDuplicates lists groups of a tenant's contacts that may be the same person or company.
func (s *server) listDuplicates(e *core.RequestEvent) error {
	query, err := list.ParseDuplicatesQuery(e.Request.URL.Query())
	if err != nil {
		return err
	}
	owner, err := e.App.FindRecordById(tenant.CollectionName, e.Request.PathValue("id"))
	if err != nil {
		return err
	}
	page, err := list.Duplicates(e.App, owner.Id, query)
	if err != nil {
		return err
	}
	return e.JSON(http.StatusOK, page)
}
