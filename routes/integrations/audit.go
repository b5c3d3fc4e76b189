package integrations

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/wire"
	"contactbase/routes/envelope"
)

// Limits of the list of the audit log.
const (
	defaultAudit = 50
	maxAudit     = 200
)

// auditPage is how many entries are read at a time for CSV.
const auditPage = 500

// listAudit lists the audit log: that of all tenants or of one for a superuser, and that of their own tenant
// for an admin member. As CSV it has all entries.
func (s *server) listAudit(e *core.RequestEvent) error {
	query, err := auditQuery(e)
	if err != nil {
		return err
	}
	switch e.Request.URL.Query().Get("format") {
	case "", "json":
	case "csv":
		return s.writeAudit(e, query)
	default:
		return envelope.InvalidParameter("format", "must be json or csv")
	}
	page, err := audit.List(e.App, query)
	if err != nil {
		return err
	}
	if query.ForMember {
		hideOperators(page)
	}
	return e.JSON(http.StatusOK, page)
}

// writeAudit answers with all entries that a query selects, page by page.
func (s *server) writeAudit(e *core.RequestEvent, query audit.Query) error {
	if query.ForMember {
		if err := s.Limits.Try(e.Request.Context(), e.Auth, exports); err != nil {
			return err
		}
	}
	query.Limit = auditPage
	turn := s.turns(e)
	return writeSheet(e, "audit-"+time.Now().UTC().Format(time.DateOnly), sheet.CSV, func(to io.Writer) error {
		writer, err := sheet.NewWriter(to, sheet.CSV, []string{
			"created", "tenant", "actorKind", "actor", "actorName", "action", "collection", "record", "recordName", "fields",
			"changes", "count", "reason",
		})
		if err != nil {
			return err
		}
		for more := true; more; more = query.Before != "" {
			page, err := auditInTurn(e, query, turn)
			if err = errors.Join(err, e.Request.Context().Err()); err != nil {
				return err
			}
			if query.ForMember {
				hideOperators(page)
			}
			for _, line := range page.Lines {
				if err := writeAuditLine(writer, line); err != nil {
					return err
				}
			}
			query.Before = page.NextBefore
		}
		return writer.Close()
	})
}

// auditInTurn reads a page in a turn.
func auditInTurn(
	e *core.RequestEvent, query audit.Query, turn func(context.Context) (release func(), err error),
) (*audit.Page, error) {
	if turn != nil {
		release, err := turn(e.Request.Context())
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return audit.List(e.App, query)
}

func writeAuditLine(writer *sheet.Writer, line audit.Line) error {
	changes, err := wire.AppendJSON(nil, line.Changes)
	if err != nil {
		return err
	}
	count := ""
	if line.Count > 0 {
		count = strconv.Itoa(line.Count)
	}
	return writer.Write([]string{
		line.Created, line.Tenant, string(line.ActorKind), line.Actor, line.ActorName, string(line.Action), line.Collection,
		line.Record, line.RecordName, strings.Join(line.Fields, ", "), string(changes), count, line.Reason,
	})
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

// auditQuery returns the entries that a request selects.
func auditQuery(e *core.RequestEvent) (query audit.Query, err error) {
	values := e.Request.URL.Query()
	if query.Tenant, err = ListedTenant(e); err != nil {
		return query, err
	}
	if query.Before = values.Get("before"); query.Before != "" && !auditID.MatchString(query.Before) {
		return query, envelope.InvalidParameter("before", "must be the ID of an entry")
	}
	query.Actor, query.Action, query.Collection = values.Get("actor"), values.Get("action"), values.Get("collection")
	query.ForMember = tenantOf(e) != ""
	if query.Action != "" && !slices.Contains(audit.Actions, audit.Action(query.Action)) {
		return query, envelope.InvalidParameter("action", "must be an action of the audit log, such as updated")
	}
	for name, at := range map[string]*time.Time{"since": &query.Since, "until": &query.Until} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, text); err != nil {
			return query, envelope.InvalidParameter(name, "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z")
		}
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
