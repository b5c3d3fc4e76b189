package integrations

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/list"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/member"
	"contactbase/internal/overview"
	"contactbase/internal/tenant"
	"contactbase/routes/envelope"
)

// Limits of the dashboard's lists.
const (
	maxOverviewIDs    = 100
	defaultDeliveries = 30
	maxDeliveries     = 200
	defaultPerPage    = 25
	maxPerPage        = 100
)

func (s *server) webhooksHealth(e *core.RequestEvent) error {
	ids, err := overviewIDs(e.Request.URL.Query())
	if err != nil {
		return err
	}
	health, err := overview.Webhooks(e.App, ids, time.Now())
	return envelope.WriteResult(e, health, err)
}

func (s *server) listWebhooks(e *core.RequestEvent) error {
	query, err := webhooksQuery(e)
	if err != nil {
		return err
	}
	page, err := overview.ListWebhooks(e.App, query, time.Now())
	return envelope.WritePage(e, page, err)
}

func webhooksQuery(e *core.RequestEvent) (query overview.WebhooksQuery, err error) {
	values := e.Request.URL.Query()
	query.Health = overview.HealthState(values.Get("health"))
	query.Search, query.Sort = values.Get("q"), cmp.Or(values.Get("sort"), "-created")
	if query.Health != "" && !slices.Contains(overview.HealthStates, query.Health) {
		return query, envelope.InvalidParameter("health", "must be healthy, degraded, failing, disabled or idle")
	}
	if !overview.Sortable(query.Sort) {
		return query, envelope.InvalidParameter("sort",
			"must be errorRate, pending, name or created, with - in front to descend")
	}
	if text := values.Get("offset"); text != "" {
		if query.Offset, err = strconv.Atoi(text); err != nil || query.Offset < 0 {
			return query, envelope.InvalidParameter("offset", "must be an integer of at least 0")
		}
	}
	if query.Limit, err = countParameter(values, "limit", defaultPerPage); err != nil {
		return query, err
	}
	query.Limit = min(query.Limit, maxPerPage)
	query.Tenant, err = ListedTenant(e)
	return query, err
}

func (s *server) tenantsCounts(e *core.RequestEvent) error {
	ids, err := overviewIDs(e.Request.URL.Query())
	if err != nil {
		return err
	}
	counts, err := overview.Tenants(e.App, ids)
	return envelope.WriteResult(e, counts, err)
}

func (s *server) tenantUsage(e *core.RequestEvent) error {
	owner, err := e.App.FindRecordById(tenant.CollectionName, e.Request.PathValue("id"))
	if err != nil {
		return err
	}
	usage, err := overview.UsageOf(e.App, owner.Id)
	return envelope.WriteResult(e, usage, err)
}

func (s *server) inspectWebhook(e *core.RequestEvent) error {
	inspected, err := overview.Inspect(e.App, e.Request.PathValue("id"), e.Request.URL.Query().Get("after"), time.Now())
	return envelope.WriteResult(e, inspected, err)
}

func overviewIDs(values url.Values) ([]string, error) {
	ids := strings.FieldsFunc(values.Get("ids"), func(r rune) bool { return r == ',' })
	if len(ids) > maxOverviewIDs {
		return nil, envelope.InvalidParameter("ids", "must name at most 100 records")
	}
	return ids, nil
}

func (s *server) listInboundPresets(e *core.RequestEvent) error {
	return envelope.WriteData(e, payload.Presets())
}

func (s *server) listDeliveries(e *core.RequestEvent) error {
	query, err := deliveriesQuery(e.Request.URL.Query())
	if err != nil {
		return err
	}
	page, err := overview.Deliveries(e.App, query)
	return envelope.WritePage(e, page, err)
}

func (s *server) readDelivery(e *core.RequestEvent) error {
	details, err := overview.DeliveryDetails(e.App, e.Request.PathValue("id"), time.Now())
	return envelope.WriteResult(e, details, err)
}

func (s *server) listAttempts(e *core.RequestEvent) error {
	id := e.Request.PathValue("id")
	if _, err := e.App.FindRecordById(deliveriesTable, id); err != nil {
		return err
	}
	attempts, err := overview.Attempts(e.App, id)
	return envelope.WriteResult(e, attempts, err)
}

func (s *server) listInboundRequests(e *core.RequestEvent) error {
	values := e.Request.URL.Query()
	if values.Get("inbound") == "" {
		return envelope.InvalidParameter("inbound", "must be the ID of an inbound webhook")
	}
	page, err := countParameter(values, "page", 1)
	if err != nil {
		return err
	}
	perPage, err := countParameter(values, "perPage", defaultPerPage)
	if err != nil {
		return err
	}
	found, err := overview.InboundRequests(e.App, values.Get("inbound"), page, min(perPage, maxPerPage))
	return envelope.WriteResult(e, found, err)
}

func (s *server) readInboundRequest(e *core.RequestEvent) error {
	found, err := overview.InboundRequestOf(e.App, e.Request.PathValue("id"))
	return envelope.WriteResult(e, found, err)
}

func (s *server) listContactEvents(e *core.RequestEvent) error {
	people := e.HasSuperuserAuth() || member.IsAdmin(e.Auth)
	history, err := overview.HistoryOf(e.App, e.Request.PathValue("id"), people)
	return envelope.WriteResult(e, history, err)
}

// countParameter returns a parameter that counts from 1.
func countParameter(values url.Values, name string, byDefault int) (int, error) {
	text := values.Get(name)
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, envelope.InvalidParameter(name, "must be an integer of at least 1")
	}
	return n, nil
}

func deliveriesQuery(values url.Values) (overview.Query, error) {
	query := overview.Query{
		Webhook: values.Get("webhook"),
		Status:  values.Get("status"),
		Type:    values.Get("type"),
		Contact: strings.TrimSpace(values.Get("contact")),
		Cursor:  values.Get("cursor"),
		Grouped: values.Get("grouped") == "true",
	}
	if query.Webhook == "" {
		return query, envelope.InvalidParameter("webhook", "must be the ID of a webhook")
	}
	if grouped := values.Get("grouped"); grouped != "" && grouped != "true" && grouped != "false" {
		return query, envelope.InvalidParameter("grouped", "must be true or false")
	}
	if query.Status != "" && !slices.Contains([]string{"pending", "delivered", "failed"}, query.Status) {
		return query, envelope.InvalidParameter("status", "must be pending, delivered or failed")
	}
	for name, into := range map[string]*time.Time{"from": &query.From, "to": &query.To} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return query, envelope.InvalidParameter(name, "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z")
		}
		*into = at
	}
	limit, err := countParameter(values, "limit", defaultDeliveries)
	query.Limit = min(limit, maxDeliveries)
	return query, err
}

func (s *server) replicaStatus(e *core.RequestEvent) error {
	if s.Replica == nil {
		return envelope.WriteData(e, nil)
	}
	return envelope.WriteData(e, s.Replica.Status())
}

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
	return envelope.WritePage(e, page, err)
}

// listAllDuplicates does the same for the contacts of each tenant.
func (s *server) listAllDuplicates(e *core.RequestEvent) error {
	query, err := list.ParseDuplicatesQuery(e.Request.URL.Query())
	if err != nil {
		return err
	}
	page, err := list.AllDuplicates(e.App, query)
	return envelope.WritePage(e, page, err)
}
