package integrations

import (
	"net/http"
	"regexp"
	"strconv"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/routes/envelope"
)

// Limits of the list of the audit log.
const (
	defaultAudit = 50
	maxAudit     = 200
)

// listAudit lists the audit log: that of all tenants or of one for a superuser, and that of their own tenant
// for an admin member.
func (s *server) listAudit(e *core.RequestEvent) error {
	query, err := auditQuery(e)
	if err != nil {
		return err
	}
	page, err := audit.List(e.App, query)
	if err != nil {
		return err
	}
	if tenantOf(e) != "" {
		hideOperators(page)
	}
	return e.JSON(http.StatusOK, page)
}

// hideOperators removes the names of superusers and of users of commands, who do not belong to the tenant.
func hideOperators(page *audit.Page) {
	for i, line := range page.Lines {
		if line.ActorKind == audit.Superuser || line.ActorKind == audit.Command {
			page.Lines[i].Actor, page.Lines[i].ActorName = "", ""
		}
	}
}

var auditID = regexp.MustCompile(`^[a-z0-9]{15}$`)

func auditQuery(e *core.RequestEvent) (query audit.Query, err error) {
	values := e.Request.URL.Query()
	if query.Tenant, err = ListedTenant(e); err != nil {
		return query, err
	}
	if query.Before = values.Get("before"); query.Before != "" && !auditID.MatchString(query.Before) {
		return query, envelope.InvalidParameter("before", "must be the ID of an entry")
	}
	query.Limit = defaultAudit
	if text := values.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 {
			return query, envelope.InvalidParameter("limit", "must be an integer of at least 1")
		}
		query.Limit = min(limit, maxAudit)
	}
	return query, nil
}

// ListedTenant returns the tenant whose rows a list has, "" for all: that of the member who calls, or the one that a
// superuser names.
func ListedTenant(e *core.RequestEvent) (string, error) {
	own, wanted := tenantOf(e), e.Request.URL.Query().Get("tenant")
	if own == "" {
		return wanted, nil
	}
	if wanted != "" && wanted != own {
		return "", errNoRecord
	}
	return own, nil
}
