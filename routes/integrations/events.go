package integrations

import (
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/event"
	"contactbase/internal/overview"
	"contactbase/routes/envelope"
)

// Limits of the list of events.
const (
	defaultEvents = 50
	maxEvents     = 100
)

func (s *server) listEvents(e *core.RequestEvent) error {
	query, err := eventsQuery(e)
	if err != nil {
		return err
	}
	page, err := overview.Events(e.App, query)
	return envelope.WritePage(e, page, err)
}

func (s *server) listEventTypes(e *core.RequestEvent) error {
	return envelope.WriteData(e, event.DeclaredBy(e.App))
}

func eventsQuery(e *core.RequestEvent) (query overview.EventsQuery, err error) {
	values := e.Request.URL.Query()
	query.Type, query.Contact = values.Get("type"), strings.TrimSpace(values.Get("contact"))
	query.ID, query.Before = strings.TrimSpace(values.Get("id")), values.Get("before")
	if text := values.Get("since"); text != "" {
		if query.Since, err = time.Parse(time.RFC3339, text); err != nil {
			return query, envelope.InvalidParameter("since", "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z")
		}
	}
	if query.Limit, err = countParameter(values, "limit", defaultEvents); err != nil {
		return query, err
	}
	query.Limit = min(query.Limit, maxEvents)
	query.Tenant, err = ListedTenant(e)
	return query, err
}

func (s *server) readEvent(e *core.RequestEvent) error {
	details, err := overview.EventOf(e.App, tenantOf(e), e.Request.PathValue("id"))
	return envelope.WriteResult(e, details, err)
}

func (s *server) redeliverEvent(e *core.RequestEvent) error {
	var input struct {
		Webhook string `json:"webhook"`
	}
	if err := readAdmin(e, &input); err != nil {
		return err
	}
	id, owner := strings.TrimPrefix(e.Request.PathValue("id"), event.IDPrefix), tenantOf(e)
	if owner == "" {
		var err error
		if owner, err = s.Deliveries.TenantOfEvent(id); err != nil {
			return err
		}
	}
	count, err := s.Deliveries.RedeliverEvent(owner, id, input.Webhook, time.Now())
	if err != nil {
		return err
	}
	s.Wake()
	if err := audit.WriteAbout(e.App, audit.Redelivered, "events", id, count); err != nil {
		return err
	}
	return envelope.WriteData(e, map[string]int{"count": count})
}
