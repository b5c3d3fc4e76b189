// Package routes answers HTTP: it decodes requests, calls the domain, and encodes responses.
package routes

import (
	"context"
	"fmt"
	"net/http"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/dashboard"
	"contactbase/internal/body"
	"contactbase/internal/contact/list"
	"contactbase/internal/credential"
	"contactbase/internal/idempotency"
	"contactbase/internal/mcp"
	"contactbase/internal/member"
	"contactbase/internal/order"
	"contactbase/internal/requests"
	"contactbase/routes/feed"
	"contactbase/routes/integrations"
	"contactbase/routes/limit"
	"contactbase/routes/route"
)

// The prefixes below which every response is ours, including the router's errors.
const (
	externalPrefix = "/api/ext" // all versions of the REST API
	apiPrefix      = externalPrefix + "/v1"
	inboundPrefix  = "/api/hooks"
	adminPrefix    = "/api/integrations"
	mcpPrefix      = "/mcp"
)

// server holds what the routes share.
type server struct {
	route.Config
	keyring  *credential.Keyring
	limits   *limit.Limits
	readers  *limit.Readers
	inFlight *idempotency.InFlight
	lists    *list.Reader
	known    *http.ServeMux // the routes below our prefixes, to tell 404 from 405
	document *document
	mcp      *mcp.Server
	feed     *feed.Feed
	drain    *drain
	bodies   *body.Ledger
}

// Bind registers all routes and middlewares.
func Bind(app core.App, config route.Config) {
	drain, refusals := bindDrain(app), requests.BindRefusals(app, ours)
	keyring := credential.NewKeyring()
	order.OnStop(app, "contactbaseKeyring", order.WorkersEnd, keyring.Flush)
	clock := limit.SteadyClock(config.Now)
	readers := limit.NewReaders(clock)
	events := feed.New(app, feed.Config{
		Readers: readers,
		Watcher: config.Watcher, Newest: func(ctx context.Context) (*string, error) {
			return newestVisibleEvent(ctx, config.Replica)
		},
		Permit:     func(reader *credential.Identity) error { return permit(reader, credential.ContactsRead) },
		Background: drain.background,
	})
	bodies := body.NewLedger(config.Bodies)
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		s := &server{
			Config:   config,
			keyring:  keyring,
			limits:   limit.New(clock),
			readers:  readers,
			inFlight: &idempotency.InFlight{},
			lists:    &list.Reader{},
			known:    http.NewServeMux(),
			document: &document{version: config.Version},
			mcp:      mcp.NewServer(config.Version, e.Router, apiPrefix, app.Logger()),
			feed:     events,
			drain:    drain,
			bodies:   bodies,
		}
		observer, err := requests.Observe(config.Registerer, config.Log, refusals, s.countCall)
		if err != nil {
			return fmt.Errorf("registering the metrics of requests: %w", err)
		}
		e.Router.Bind(observer, s.request(), s.account(), s.pocketBase())
		s.bindBatchLimit(app)
		bindQueries(app)
		app.OnRecordRequestEmailChangeRequest(member.CollectionName).BindFunc(sendLater)
		s.bindRoutes(e)
		s.bindDocs(e)
		if err := e.Next(); err != nil {
			return err
		}
		e.Server.Handler = arrive(app, bodies.Handler(e.Server.Handler))
		return nil
	})
}

const (
	accountMiddlewareID    = "contactbaseAccount"
	pocketBaseMiddlewareID = "contactbasePocketBase"
)

// accounts are the layers of routes that admit members or superusers by PocketBase's tokens.
var accounts = []string{apis.DefaultLoadAuthTokenMiddlewareId, accountMiddlewareID}

// bindRoutes registers the routes.
func (s *server) bindRoutes(e *core.ServeEvent) {
	s.group(e, apiPrefix, s.apiRoutes()...).Unbind(accounts...)
	s.group(e, externalPrefix).Unbind(accounts...) // the only version
	inbound := s.group(e, inboundPrefix, s.inboundRoutes()...)
	inbound.Unbind(accounts...)
	inbound.Route("OPTIONS", "/{token}", s.allowInbound).Bind(requireUTF8()) // unknown, so that no Allow lists it
	s.group(e, mcpPrefix, route.New("POST", "", s.serveModel, route.Middlewares{})).Unbind(accounts...)
	s.group(e, adminPrefix, integrations.Routes(s.Config, integrations.Shared{
		Lists: s.lists, Limits: s.limits, Readers: s.readers, Contacts: s.tenantContacts(), KeyOf: s.keyOf, Ledger: s.bodies,
	})...)
}

// apiRoutes are the routes of integrators.
func (s *server) apiRoutes() []route.Route {
	counted, mayRead := s.countRequest(), s.authorize(credential.ContactsRead)
	read := route.Middlewares{mayRead, counted, s.keyReads()}
	write := route.Middlewares{s.authorize(credential.ContactsWrite), counted}
	remove := route.Middlewares{s.authorize(credential.ContactsDelete), counted}
	batch := route.Middlewares{s.authorize(credential.ContactsWrite, credential.ContactsDelete), s.countBatch()}
	return []route.Route{
		route.New("GET", "/contacts", s.listContacts, read),
		route.New("POST", "/contacts", s.createContact, write),
		route.New("GET", "/contacts/count", s.countContacts, read),
		route.New("GET", "/contacts/{id}", s.readContact, read),
		route.New("PATCH", "/contacts/{id}", s.updateContact, write),
		route.New("DELETE", "/contacts/{id}", s.deleteContact, remove),
		route.New("POST", "/contacts/batch", s.writeContacts, batch),
		route.New("POST", "/contacts/{id}/merge", route.WithCurrentFields(s.mergeContacts), write),
		route.New("PUT", "/contacts/by-external-id/{externalId}", s.upsertContact, write),
		// it waits for events, and reads in between
		route.New("GET", "/events", func(e *core.RequestEvent) error { return s.feed.Answer(e, identity(e)) },
			route.Middlewares{mayRead, counted}),
	}
}

// inboundRoutes are the routes of other systems, which a token in the address authorizes.
func (s *server) inboundRoutes() []route.Route {
	return []route.Route{
		route.New("GET", "/{token}", s.probeInbound, route.Middlewares{}),
		route.New("POST", "/{token}", s.receiveInbound, route.Middlewares{}),
	}
}

// group registers the routes below a prefix, and a last one for all other requests there, so that none reaches
// PocketBase's own answers. There are no CORS headers: a key never belongs in a browser.
func (s *server) group(e *core.ServeEvent, prefix string, routes ...route.Route) group {
	g := e.Router.Group(prefix)
	g.Unbind(apis.DefaultCorsMiddlewareId, apis.DefaultBodyLimitMiddlewareId,
		pocketBaseMiddlewareID, member.SignInsID, dashboard.HeadersID)
	for _, r := range routes {
		g.Route(r.Method, r.Path, r.Handle).Bind(r.Scope.Admit(s.limits)...).Bind(requireUTF8())
		s.known.HandleFunc(r.Method+" "+prefix+r.Path, func(http.ResponseWriter, *http.Request) {})
	}
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		if !g.HasRoute(method, prefix) {
			g.Route(method, "", s.unknown).Bind(requireUTF8())
		}
		g.Route(method, "/{rest...}", s.unknown).Bind(requireUTF8())
	}
	return group{g}
}
