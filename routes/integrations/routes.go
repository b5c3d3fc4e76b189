// Package integrations answers superusers and the members of a tenant: what the buttons of the dashboard
// and the portal call.
package integrations

import (
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/body"
	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/credential"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
	"contactbase/routes/limit"
	"contactbase/routes/route"
)

// Shared is what these routes share with those of integrators.
type Shared struct {
	Lists    *list.Reader
	Limits   *limit.Limits
	Readers  *limit.Readers
	Contacts Contacts
	Ledger   *body.Ledger // of the bodies under way
	// KeyOf returns the identity of the API key in a request, nil if it has none, or an error if the key is invalid.
	KeyOf func(*core.RequestEvent) (*credential.Identity, error)
}

// Contacts are the handlers of the contacts of a tenant.
type Contacts struct {
	List, Count, Read, Update, Delete, Merge func(*core.RequestEvent) error
}

// server holds what the routes share.
type server struct {
	route.Config
	Shared
	mailer *member.Mailer
}

// Routes returns the routes of superusers and members.
func Routes(config route.Config, shared Shared) []route.Route {
	return (&server{config, shared, member.NewMailer()}).routes()
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
	eventsTable     = "events"
	importsTable    = "_imports"
	membersTable    = member.CollectionName
)

// exports are the costly requests that write all of a list.
const exports = "export"

// routes is the route table.
func (s *server) routes() []route.Route {
	superusers := scope{}
	return append([]route.Route{
		route.New("GET", "/webhooks", s.listWebhooks, viewers()),
		route.New("POST", "/webhooks/{id}/ping", s.pingWebhook, limited("ping", admins(fromPath(webhooksTable)))),
		route.New("POST", "/webhooks/{id}/rotate", s.rotateWebhook, admins(fromPath(webhooksTable))),
		route.New("POST", "/webhooks/{id}/recover", s.recoverWebhook, limited("recover", admins(fromPath(webhooksTable)))),
		route.New("POST", "/webhooks/preview-filter", s.previewFilter,
			limited("filter", admins(fromBody("tenant", tenantsTable), fromBody("webhook", webhooksTable)))),
		route.New("GET", "/webhooks/health", s.webhooksHealth, viewers(fromQuery("ids", webhooksTable))),
		route.New("GET", "/webhooks/{id}/activity", s.webhookActivity, viewers(fromPath(webhooksTable))),
		route.New("GET", "/webhooks/{id}/inspected", s.inspectWebhook, viewers(fromPath(webhooksTable))),
		route.New("GET", "/events", s.listEvents, viewers()),
		route.New("GET", "/event-types", s.listEventTypes, viewers()),
		route.New("GET", "/events/{id}", s.readEvent, viewers(fromPath(eventsTable))),
		route.New("POST", "/events/{id}/redeliver", s.redeliverEvent, limited("redeliver", admins(fromPath(eventsTable)))),
		route.New("GET", "/deliveries", s.listDeliveries, viewers(fromQuery("webhook", webhooksTable))),
		route.New("GET", "/deliveries/{id}", s.readDelivery, viewers(fromPath(deliveriesTable))),
		route.New("GET", "/deliveries/{id}/attempts", s.listAttempts, viewers(fromPath(deliveriesTable))),
		route.New("POST", "/deliveries/{id}/redeliver", s.redeliver, limited("redeliver", admins(fromPath(deliveriesTable)))),
		route.New("POST", "/keys/{id}/rotate", s.rotateKey, admins(fromPath(keysTable))),
		// the key "unknown" belongs to nobody
		route.New("GET", "/keys/{id}/activity", s.keyActivity, viewers(fromPath(keysTable))),
		route.New("POST", "/inbound/{id}/rotate", s.rotateInbound, admins(fromPath(inboundTable))),
		route.New("POST", "/inbound/preview", route.WithCurrentFields(s.previewInbound),
			upTo(maxAdminBody, limited("preview", admins(fromBody("tenant", tenantsTable))))),
		route.New("GET", "/inbound/presets", s.listInboundPresets, viewers()),
		route.New("GET", "/inbound/requests", s.listInboundRequests, viewers(fromQuery("inbound", inboundTable))),
		route.New("GET", "/inbound/requests/{id}/details", s.readInboundRequest, viewers(fromPath(requestsTable))),
		route.New("POST", "/inbound/requests/{id}/replay",
			route.WithCurrentFields(s.replayInbound), admins(fromPath(requestsTable))),
		route.New("GET", "/overview", s.landing, viewers()),
		route.New("GET", "/audit", s.listAudit, admins()),
		route.New("GET", "/replica", s.replicaStatus, superusers),
	}, slices.Concat(s.contactRoutes(superusers), s.tenantRoutes(superusers))...)
}

func (s *server) contactRoutes(superusers scope) []route.Route {
	return []route.Route{
		route.New("GET", "/contacts", s.Contacts.List, viewers()),
		route.New("GET", "/contacts/count", s.Contacts.Count, viewers()),
		route.New("GET", "/contacts/{id}", s.Contacts.Read, viewers(fromPath(contactsTable))),
		route.New("PATCH", "/contacts/{id}", s.Contacts.Update, admins(fromPath(contactsTable))),
		route.New("DELETE", "/contacts/{id}", s.Contacts.Delete, admins(fromPath(contactsTable))),
		route.New("GET", "/contacts/fields", s.listImportFields, viewers()),
		route.New("GET", "/contacts/filters", s.listFilters, superusers),
		route.New("POST", "/contacts/filters", s.addFilter, superusers),
		route.New("GET", "/contacts/{id}/events", s.listContactEvents, viewers(fromPath(contactsTable))),
		route.New("GET", "/contacts/export", s.exportContacts, limited(exports, admins(fromQuery("tenant", tenantsTable)))),
		route.New("GET", "/imports", s.listImports, admins()),
		route.New("POST", "/imports", s.storeImport, streaming(admins(fromQuery("tenant", tenantsTable)))),
		route.New("GET", "/imports/{id}", s.readImport, admins(fromPath(importsTable))),
		route.New("POST", "/imports/{id}/check", s.checkImport, admins(fromPath(importsTable))),
		route.New("POST", "/imports/{id}/start", s.startImport, admins(fromPath(importsTable))),
		route.New("POST", "/imports/{id}/cancel", s.cancelImport, admins(fromPath(importsTable))),
		route.New("POST", "/imports/{id}/undo", s.undoImport, limited("undo", admins(fromPath(importsTable)))),
		route.New("GET", "/imports/{id}/refused", s.readRefused, admins(fromPath(importsTable))),
		route.New("GET", "/imports/{id}/problems", s.readProblems, admins(fromPath(importsTable))),
	}
}

func (s *server) tenantRoutes(superusers scope) []route.Route {
	return []route.Route{
		route.New("GET", "/tenants/counts", s.tenantsCounts, viewers(fromQuery("ids", tenantsTable))),
		route.New("GET", "/tenants/{id}/usage", s.tenantUsage, viewers(fromPath(tenantsTable))),
		route.New("GET", "/duplicates", s.listAllDuplicates, superusers),
		route.New("GET", "/tenants/{id}/duplicates", s.listDuplicates,
			limited("duplicates", viewers(fromPath(tenantsTable)))),
		route.New("POST", "/tenants/{id}/contacts/{contact}/merge",
			route.WithCurrentFields(s.Contacts.Merge), limited("merge", admins(fromPath(tenantsTable)))),
		route.New("POST", "/tenants/{id}/portal-link", s.createPortalLink, orKey{superusers, s.KeyOf}),
		route.New("DELETE", "/tenants/{id}/portal-links", s.revokePortalLinks, superusers),
		route.New("POST", "/members/{id}/invitation", s.inviteMember, signedIn(admins(fromPath(membersTable)))),
		route.New("POST", "/invitations/open", s.openInvitation, route.Middlewares{}),     // with its token
		route.New("POST", "/invitations/accept", s.acceptInvitation, route.Middlewares{}), // with its token
	}
}
