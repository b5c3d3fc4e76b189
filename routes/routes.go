// Package routes answers HTTP: it decodes a request, makes one domain call, and encodes the response.
package routes

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/activity"
	"contactbase/internal/audit"
	"contactbase/internal/contact/list"
	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/health"
	"contactbase/internal/idempotency"
	"contactbase/internal/loop"
	"contactbase/internal/mcp"
	"contactbase/internal/order"
	"contactbase/internal/requests"
	"contactbase/internal/version"
	"contactbase/routes/feed"
	"contactbase/routes/integrations"
	"contactbase/routes/limit"
)

// The prefixes below which every response is ours, including the router's errors.
const (
	externalPrefix = "/api/ext" // all versions of the REST API
	apiPrefix      = externalPrefix + "/v1"
	hooksPrefix    = "/api/hooks"
	adminPrefix    = "/api/integrations"
	mcpPrefix      = "/mcp"
)

// Config holds the dependencies of the routes.
type Config struct {
	Version    string
	Sender     *delivery.Sender // sends pings
	Deliveries delivery.Store
	Watcher    *event.Watcher // notifies readers of new events; runs while the program serves
	Imports    *loop.Loop     // checks and applies imports
	Wake       func()         // called when a request has made work due
	ReadOnly   func() bool    // reports whether the data directory is being upgraded
	Replica    Replica        // of the data directory; nil for none
	Calls      *activity.CallCounter
	Reasons    func() []health.Reason // why the program is not ready

	Registerer prometheus.Registerer // for the metrics; nil for none
	Log        *slog.Logger          // for rejected, failed and slow requests; nil for none
}

// server holds what the routes share.
type server struct {
	Config
	keyring  *credential.Keyring
	limits   *limit.Limits
	readers  *limit.Readers
	inFlight *idempotency.InFlight
	lists    *list.Reader
	known    *http.ServeMux // the routes below our prefixes, to tell 404 from 405
	document *document
	models   *mcp.Server
	feed     *feed.Feed
	large    *largeBatches
}

type handler = func(*core.RequestEvent) error

type route struct {
	method  string
	path    string
	handle  handler
	require []*hook.Handler[*core.RequestEvent]
}

// Bind registers all routes and middlewares.
func Bind(app core.App, config Config) {
	drain, refusals := bindDrain(app), requests.BindRefusals(app, ours)
	keyring := credential.NewKeyring()
	order.OnStop(app, "contactbaseKeyring", order.WorkersEnd, keyring.Flush)
	readers := limit.NewReaders(limit.SteadyClock(time.Now))
	events := feed.New(app, feed.Config{
		Readers: readers,
		Watcher: config.Watcher, Newest: config.newestVisibleEvent,
		Permit:     func(reader *credential.Identity) error { return permit(reader, credential.ContactsRead) },
		Background: drain.background,
	})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		s := &server{
			Config:   config,
			keyring:  keyring,
			limits:   limit.New(limit.SteadyClock(time.Now)),
			readers:  readers,
			inFlight: &idempotency.InFlight{},
			lists:    &list.Reader{},
			known:    http.NewServeMux(),
			document: &document{version: config.Version},
			models:   mcp.NewServer(config.Version, e.Router, apiPrefix, app.Logger()),
			feed:     events,
			large:    &largeBatches{tenants: map[string]*largeOfTenant{}},
		}
		e.Router.Bind(refusals.Middleware(), s.envelope(), drain.middleware(), version.Middleware(config.Version), audit.Middleware(), s.refuseWrites())
		e.Router.Bind(s.countMembers(app), plainQueries(app), emailChanges(app), boundBodies(), boundForms(), s.memberReads())
		if config.Replica != nil {
			e.Router.Bind(s.acknowledge())
		}
		observer, err := requests.Observe(config.Registerer, config.Log, ours, s.countCall)
		if err != nil {
			return fmt.Errorf("registering the metrics of requests: %w", err)
		}
		e.Router.Bind(observer)
		s.bindRoutes(e)
		s.bindDocs(e)
		if err := e.Next(); err != nil {
			return err
		}
		e.Server.Handler = refuseUnclean(ownRequest(e.Server.Handler))
		return nil
	})
}

// bindRoutes registers the routes.
func (s *server) bindRoutes(e *core.ServeEvent) {
	s.group(e, apiPrefix, s.apiRoutes()...).Unbind(apis.DefaultLoadAuthTokenMiddlewareId)
	s.group(e, externalPrefix).Unbind(apis.DefaultLoadAuthTokenMiddlewareId) // the only version
	s.group(e, hooksPrefix, s.hookRoutes()...).Unbind(apis.DefaultLoadAuthTokenMiddlewareId)
	s.group(e, mcpPrefix, route{"POST", "", s.serveModel, nil}).Unbind(apis.DefaultLoadAuthTokenMiddlewareId)
	s.bindIntegrations(e)
}

// apiRoutes are the routes of integrators.
func (s *server) apiRoutes() []route {
	mayRead, mayWrite, counted := s.authorize(credential.ContactsRead), s.authorize(credential.ContactsWrite), s.countRequest()
	read, write := require(mayRead, counted, s.keyReads()), require(mayWrite, counted)
	return []route{
		{"GET", "/contacts", s.listContacts, read},
		{"POST", "/contacts", s.createContact, write},
		{"GET", "/contacts/{id}", s.readContact, read},
		{"PATCH", "/contacts/{id}", s.updateContact, write},
		{"POST", "/contacts/batch", s.writeContacts, require(mayWrite, s.countBatch())},
		{"POST", "/contacts/{id}/merge", s.mergeContacts, write},
		{"PUT", "/contacts/by-external-id/{externalId}", s.upsertContact, write},
		{"GET", "/events", func(e *core.RequestEvent) error { return s.feed.Answer(e, identity(e)) }, require(mayRead, counted)}, // it waits for events, and reads in between
	}
}

// hookRoutes are the routes of other systems, which a token in the address authorizes.
func (s *server) hookRoutes() []route {
	return []route{
		{"GET", "/{token}", s.probeInbound, nil},
		{"POST", "/{token}", s.receiveInbound, nil},
	}
}

// bindIntegrations registers the routes of superusers and members.
func (s *server) bindIntegrations(e *core.ServeEvent) {
	config := integrations.Config{
		Sender: s.Sender, Deliveries: s.Deliveries, Imports: s.Imports, Lists: s.lists, Limits: s.limits, Uploads: &limit.Uploads{}, Wake: s.Wake, Reasons: s.Reasons,
		Merge: s.mergeTenantContacts,
	}
	if s.Replica != nil {
		config.Replica = s.Replica.Status
	}
	var routes []route
	for _, r := range integrations.Routes(config) {
		routes = append(routes, route{r.Method, r.Path, r.Handle, r.Require})
	}
	s.group(e, adminPrefix, routes...)
}

func require(middlewares ...*hook.Handler[*core.RequestEvent]) []*hook.Handler[*core.RequestEvent] {
	return middlewares
}

// group registers the routes below a prefix, and a last one for all other requests there, so that none reaches PocketBase's own
// answers. There are no CORS headers: a key never belongs in a browser.
func (s *server) group(e *core.ServeEvent, prefix string, routes ...route) group {
	g := e.Router.Group(prefix)
	g.Unbind(apis.DefaultCorsMiddlewareId, apis.DefaultBodyLimitMiddlewareId)
	g.Bind(apis.SkipSuccessActivityLog())
	for _, r := range routes {
		g.Route(r.method, r.path, r.handle).Bind(r.require...).Bind(requireUTF8())
		s.known.HandleFunc(r.method+" "+prefix+r.path, func(http.ResponseWriter, *http.Request) {})
	}
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		if !g.HasRoute(method, prefix) {
			g.Route(method, "", s.unknown).Bind(requireUTF8())
		}
		g.Route(method, "/{rest...}", s.unknown).Bind(requireUTF8())
	}
	return group{g}
}
