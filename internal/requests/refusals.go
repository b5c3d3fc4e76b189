// Package requests tells operators of the requests that were answered: in PocketBase's log, without letting a flood of refused ones
// fill it, in the log that is printed, and as metrics.
package requests

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/pocketbase/pocketbase/tools/router"
)

// What a flood of requests may write to the log, where each row costs more than refusing does.
const (
	refusalWindow  = time.Minute
	maxRefused     = 1024 // clients that are counted apart in a window
	maxFailureRows = 60   // failures of ours that get a row each in a window
	otherClients   = "others"
)

// The ids of the middlewares, for routes that go without.
const (
	RefusalsID = "contactbaseRefusals"
	ObserverID = "contactbaseObserveRequests"
)

// skipSuccessLog is what PocketBase's log of requests looks for where a request has succeeded. It has no name for it.
const skipSuccessLog = "__skipSuccessActivityLogger"

// Refusals counts the requests that were refused, for one row of the log per client and minute.
type Refusals struct {
	ours  func(path string) bool
	write func(client string, r refusal)

	mu       sync.Mutex
	timer    *time.Timer // nil while there is nothing to write
	clients  map[string]*refusal
	failures int
}

// refusal is what a client was refused.
type refusal struct {
	count    int
	statuses map[string]int
	last     string // the route, never the address, which may hold a token
}

func newRefusals(ours func(path string) bool, write func(client string, r refusal)) *Refusals {
	return &Refusals{ours: ours, write: write, clients: map[string]*refusal{}}
}

// BindRefusals counts until the app ends. ours tells the addresses below the program's own prefixes.
func BindRefusals(app core.App, ours func(path string) bool) *Refusals {
	r := newRefusals(ours, func(client string, r refusal) {
		app.Logger().Warn("requests refused", typeKey, typeRefusals, "client", client, "count", r.count, "statuses", r.statuses, "lastRoute", r.last)
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: RefusalsID,
		Func: func(e *core.TerminateEvent) error {
			r.flush()
			return e.Next()
		},
		Priority: -5000, // after the last request, before the log is closed
	})
	return r
}

// Middleware keeps what is counted, and what guests read, out of PocketBase's log of requests. A superuser's own
// mistakes outside of our prefixes get their rows: the dashboard shows them.
func (r *Refusals) Middleware() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       RefusalsID,
		Priority: apis.DefaultActivityLoggerMiddlewarePriority + 1, // right inside of it
		Func: func(e *core.RequestEvent) error {
			response := e.Response // compression may wrap it
			err := e.Next()
			status := statusOf(e, err)
			guest := e.Auth == nil || r.ours(e.Request.URL.Path)
			switch {
			case status >= http.StatusInternalServerError:
				if r.mayFail() {
					return err
				}
			case status >= http.StatusBadRequest:
				if !guest {
					return err
				}
			default:
				if guest && (e.Request.Method == http.MethodGet || e.Request.Method == http.MethodHead) {
					e.Set(skipSuccessLog, true)
				}
				return err
			}
			r.count(clientOf(e), status, e.Request.Pattern)
			e.Set(skipSuccessLog, true)
			router.ErrorHandler(response, e.Request, err) // where it is not answered yet
			return nil
		},
	}
}

// clientOf is the client's address, "" where the settings keep addresses out of the log. A network of IPv6 belongs to
// one client.
func clientOf(e *core.RequestEvent) string {
	if !e.App.Settings().Logs.LogIP {
		return ""
	}
	address := e.RealIP()
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() && !ip.Is4In6() {
		return netip.PrefixFrom(ip, 64).Masked().String()
	}
	return address
}

func (r *Refusals) count(client string, status int, route string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start()
	found := r.clients[client]
	if found == nil && len(r.clients) >= maxRefused {
		client = otherClients
		found = r.clients[client]
	}
	if found == nil {
		found = &refusal{statuses: map[string]int{}}
		r.clients[client] = found
	}
	found.count++
	found.statuses[strconv.Itoa(status)]++
	found.last = route
}

// mayFail reports whether a failure still gets a row of its own.
func (r *Refusals) mayFail() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start()
	r.failures++
	return r.failures <= maxFailureRows
}

// start opens a window unless there is one.
func (r *Refusals) start() {
	if r.timer == nil {
		r.timer = time.AfterFunc(refusalWindow, r.flush)
	}
}

// flush ends the window, and writes what was counted in it.
func (r *Refusals) flush() {
	r.mu.Lock()
	counted := r.clients
	if r.timer != nil {
		r.timer.Stop()
	}
	r.timer, r.clients, r.failures = nil, map[string]*refusal{}, 0
	r.mu.Unlock()
	for client, found := range counted {
		r.write(client, *found)
	}
}
