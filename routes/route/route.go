// Package route defines what all tables of routes share: a row, and the dependencies of the handlers.
package route

import (
	"context"
	"log/slog"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/activity"
	"contactbase/internal/body"
	"contactbase/internal/contact/custom"
	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/health"
	"contactbase/internal/loop"
	"contactbase/internal/replica"
	"contactbase/routes/limit"
)

// Route is a row of a table of routes. Its path is below a prefix.
type Route struct {
	Method, Path string
	Handle       func(*core.RequestEvent) error
	Scope        Scope
}

// New returns a row.
func New(method, path string, handle func(*core.RequestEvent) error, scope Scope) Route {
	return Route{method, path, handle, scope}
}

// WithCurrentFields returns a handler that runs again if it meets an outdated collection: see custom.RetryOutdated.
// Reads of contacts and contact.Request.Commit do so themselves; what plans with the fields in other ways, and in
// several steps, needs this.
func WithCurrentFields(handle func(*core.RequestEvent) error) func(*core.RequestEvent) error {
	return func(e *core.RequestEvent) error {
		app := e.App
		defer func() { e.App = app }()
		return custom.RetryOutdated(app, func(app core.App) error {
			e.App = app
			return handle(e)
		})
	}
}

// Scope says who may call a route.
type Scope interface {
	// Admit returns the middlewares that check a request, in their order.
	Admit(limits *limit.Limits) []*hook.Handler[*core.RequestEvent]
}

// Middlewares is a scope that these middlewares check; none admits everybody.
type Middlewares []*hook.Handler[*core.RequestEvent]

// Admit implements Scope.
func (m Middlewares) Admit(*limit.Limits) []*hook.Handler[*core.RequestEvent] { return m }

// Config holds the dependencies of the routes.
type Config struct {
	Version    string
	Sender     *delivery.Sender // sends pings
	Deliveries *store.Store
	Watcher    *event.Watcher // notifies readers of new events; runs while the program serves
	Imports    *loop.Loop     // checks and applies imports
	Wake       func()         // called when a request has made work due
	ReadOnly   func() bool    // reports whether the data directory is being upgraded
	NATS       bool           // whether webhooks may publish to NATS
	Replica    Replica        // of the data directory; nil for none
	Calls      *activity.CallCounter
	Reasons    func() []health.Reason // why the program is not ready
	Now        func() time.Time       // the clock of the limits
	Bodies     body.Limits

	Registerer prometheus.Registerer // for the metrics; nil for none
	Log        *slog.Logger          // for rejected, failed and slow requests; nil for none
}

// Replica is what requests need from a replica.
type Replica interface {
	Holds() error                          // returns an error if this machine may not answer
	Acknowledge(ctx context.Context) error // returns once the writes so far may be acknowledged
	// NewestVisibleEvent returns the id of the newest event that clients may see, nil for all.
	NewestVisibleEvent(ctx context.Context) (*string, error)
	Status() replica.Status
}
