// Package requests reports requests to operators: in PocketBase's log, which a flood of refused requests cannot fill,
// in the printed log, and as metrics.
package requests

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"contactbase/internal/order"
	"contactbase/internal/visitor"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"
)

// Limits of what a flood of requests writes to PocketBase's log, because writing a row takes longer than
// refusing a request.
const (
	refusalWindow  = time.Minute
	maxClients     = 1024 // clients that are counted separately in a window
	maxFailureRows = 60   // failures of the server with a row of their own in a window
	otherClients   = "others"
)

// skipSuccessLog is the key in the request's store that makes PocketBase skip the log entry of a successful request.
// PocketBase does not export it.
const skipSuccessLog = "__skipSuccessActivityLogger"

// Refusals counts refused requests, for one row of PocketBase's log per client and minute.
type Refusals struct {
	ours  func(path string) bool
	write func(client string, r refusal)

	mu       sync.Mutex
	timer    *time.Timer // nil while there is nothing to write
	clients  map[string]*refusal
	failures int
}

// refusal counts the refused requests of a client.
type refusal struct {
	count    int
	statuses map[string]int
	last     string // route of the last one, never the path, which may contain a token
}

func newRefusals(ours func(path string) bool, write func(client string, r refusal)) *Refusals {
	return &Refusals{ours: ours, write: write, clients: map[string]*refusal{}}
}

// BindRefusals returns a counter that is flushed when the app ends. The function ours reports whether a path
// belongs to this program.
func BindRefusals(app core.App, ours func(path string) bool) *Refusals {
	r := newRefusals(ours, func(client string, r refusal) {
		app.Logger().Warn("requests refused", typeKey, typeRefusals, "client",
			client, "count", r.count, "statuses", r.statuses, "lastRoute", r.last)
	})
	order.OnStop(app, "contactbaseRefusals", order.WorkersEnd, r.flush)
	return r
}

// keepOut keeps counted requests, successful requests to our paths, and those of guests to read others, out of
// PocketBase's log. It returns the error that the log shows. Refused requests of superusers to PocketBase's own routes
// are logged, because the dashboard shows them.
func (r *Refusals) keepOut(
	e *core.RequestEvent, response http.ResponseWriter, status int, isOurs bool, err error,
) error {
	switch {
	case status >= http.StatusInternalServerError:
		if r.logsFailure() {
			return err
		}
	case status >= http.StatusBadRequest:
		if e.Auth != nil && !isOurs {
			return err
		}
	default:
		if isOurs || e.Auth == nil && (e.Request.Method == http.MethodGet || e.Request.Method == http.MethodHead) {
			e.Set(skipSuccessLog, true)
		}
		return err
	}
	r.count(clientOf(e), status, e.Request.Pattern)
	e.Set(skipSuccessLog, true)
	router.ErrorHandler(response, e.Request, err) // unless there is a response already
	return nil
}

// clientOf returns the IP address of the client, or the network of an IPv6 address, which belongs to one client. It
// returns "" if the settings keep addresses out of the log.
func clientOf(e *core.RequestEvent) string {
	if !e.App.Settings().Logs.LogIP {
		return ""
	}
	client := visitor.Of(e)
	if strings.Contains(client, ":") {
		client += "/64"
	}
	return client
}

func (r *Refusals) count(client string, status int, route string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start()
	found := r.clients[client]
	if found == nil && len(r.clients) >= maxClients {
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

// logsFailure reports whether another failure gets a row of its own.
func (r *Refusals) logsFailure() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start()
	r.failures++
	return r.failures <= maxFailureRows
}

// start starts a window unless one is open. The caller holds mu.
func (r *Refusals) start() {
	if r.timer == nil {
		r.timer = time.AfterFunc(refusalWindow, r.flush)
	}
}

// flush ends the window, and writes its counts.
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
