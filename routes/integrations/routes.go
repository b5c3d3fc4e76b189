// Package integrations answers superusers and the members of a tenant: what the buttons of the dashboard and the portal call.
package integrations

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/health"
	"contactbase/internal/inbound"
	"contactbase/internal/loop"
	"contactbase/internal/replica"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
	"contactbase/routes/limit"
)

// Config holds the dependencies of the routes.
type Config struct {
	Sender     *delivery.Sender // sends pings
	Deliveries delivery.Store
	Imports    *loop.Loop // checks and applies imports
	Lists      *list.Reader
	Limits     *limit.Limits
	Uploads    *limit.Uploads
	Wake       func()                 // called when a request has made work due
	Reasons    func() []health.Reason // why the program is not ready
	Replica    func() replica.Status  // nil without a replica

	Merge func(*core.RequestEvent) error // merges contacts of a tenant
}

// Route is a route below the prefix of superusers and members.
type Route struct {
	Method, Path string
	Handle       func(*core.RequestEvent) error
	Require      []*hook.Handler[*core.RequestEvent]
}

// Routes returns all routes.
func Routes(config Config) (all []Route) {
	s := &server{config}
	for _, r := range s.routes() {
		all = append(all, Route{r.method, r.path, r.handle, []*hook.Handler[*core.RequestEvent]{s.admit(r.scope), recordNotFound()}})
	}
	return all
}

// server holds what the routes share.
type server struct{ Config }

// route is a route that superusers may call, and members whom its scope allows.
type route struct {
	method, path string
	handle       func(*core.RequestEvent) error
	scope        scope
}

// The tables of the records that members may name.
const (
	tenantsTable    = tenant.CollectionName
	keysTable       = credential.CollectionName
	webhooksTable   = webhook.CollectionName
	inboundTable    = inbound.CollectionName
	requestsTable   = inbound.RequestsCollection
	contactsTable   = contact.CollectionName
	deliveriesTable = "deliveries"
	importsTable    = "_imports"
)

// routes is the route table.
func (s *server) routes() []route {
	superusers := scope{}
	return []route{
		{"POST", "/webhooks/{id}/ping", s.pingWebhook, limited("ping", admins(fromPath(webhooksTable)))},
		{"POST", "/webhooks/{id}/rotate", s.rotateWebhook, admins(fromPath(webhooksTable))},
		{"POST", "/webhooks/{id}/recover", s.recoverWebhook, limited("recover", admins(fromPath(webhooksTable)))},
		{"POST", "/webhooks/preview-filter", s.previewFilter, limited("filter", admins(fromBody("tenant", tenantsTable), fromBody("webhook", webhooksTable)))},
		{"GET", "/webhooks/health", s.webhooksHealth, viewers(fromQuery("ids", webhooksTable))},
		{"GET", "/webhooks/{id}/activity", s.webhookActivity, viewers(fromPath(webhooksTable))},
		{"GET", "/webhooks/{id}/inspected", s.inspectWebhook, viewers(fromPath(webhooksTable))},
		{"GET", "/deliveries", s.listDeliveries, viewers(fromQuery("webhook", webhooksTable))},
		{"GET", "/deliveries/{id}", s.readDelivery, viewers(fromPath(deliveriesTable))},
		{"GET", "/deliveries/{id}/attempts", s.listAttempts, viewers(fromPath(deliveriesTable))},
		{"POST", "/deliveries/{id}/redeliver", s.redeliver, limited("redeliver", admins(fromPath(deliveriesTable)))},
		{"POST", "/keys/{id}/rotate", s.rotateKey, admins(fromPath(keysTable))},
		{"GET", "/keys/{id}/activity", s.keyActivity, viewers(fromPath(keysTable))}, // the key "unknown" belongs to nobody
		{"POST", "/inbound/{id}/rotate", s.rotateInbound, admins(fromPath(inboundTable))},
		{"POST", "/inbound/preview", s.previewInbound, limited("preview", admins(fromBody("tenant", tenantsTable)))},
		{"GET", "/inbound/presets", s.listInboundPresets, viewers()},
		{"GET", "/inbound/requests", s.listInboundRequests, viewers(fromQuery("inbound", inboundTable))},
		{"GET", "/inbound/requests/{id}/details", s.readInboundRequest, viewers(fromPath(requestsTable))},
		{"POST", "/inbound/requests/{id}/replay", s.replayInbound, admins(fromPath(requestsTable))},
		{"GET", "/contacts/fields", s.listImportFields, viewers()},
		{"GET", "/contacts/filters", s.listFilters, superusers},
		{"POST", "/contacts/filters", s.addFilter, superusers},
		{"GET", "/contacts/{id}/events", s.listContactEvents, viewers(fromPath(contactsTable))},
		{"GET", "/contacts/export", s.exportContacts, admins(fromQuery("tenant", tenantsTable))},
		{"GET", "/imports", s.listImports, admins()},
		{"POST", "/imports", s.storeImport, streaming(admins(fromQuery("tenant", tenantsTable)))},
		{"GET", "/imports/{id}", s.readImport, admins(fromPath(importsTable))},
		{"POST", "/imports/{id}/check", s.checkImport, admins(fromPath(importsTable))},
		{"POST", "/imports/{id}/start", s.startImport, admins(fromPath(importsTable))},
		{"POST", "/imports/{id}/cancel", s.cancelImport, admins(fromPath(importsTable))},
		{"GET", "/imports/{id}/refused", s.readRefused, admins(fromPath(importsTable))},
		{"GET", "/overview", s.land, viewers()},
		{"GET", "/audit", s.listAudit, admins()},
		{"GET", "/tenants/counts", s.tenantsCounts, viewers(fromQuery("ids", tenantsTable))},
		{"GET", "/tenants/{id}/duplicates", s.listDuplicates, limited("duplicates", viewers(fromPath(tenantsTable)))},
		{"POST", "/tenants/{id}/contacts/{contact}/merge", s.Merge, limited("merge", admins(fromPath(tenantsTable)))},
		{"POST", "/tenants/{id}/portal-link", s.createPortalLink, superusers},
		{"DELETE", "/tenants/{id}/portal-links", s.revokePortalLinks, superusers},
		{"GET", "/replica", s.replicaStatus, superusers},
	}
}
