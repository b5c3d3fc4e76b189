package requests

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/fault"
	"contactbase/internal/order"
)

// IDHeader is the response header with the id of the request.
const IDHeader = "X-Request-Id"

// ID returns the id of the request, which the response carries.
func ID(e *core.RequestEvent) string { return e.Response.Header().Get(IDHeader) }

const (
	slowAfter    = time.Second // how long a request takes at least to be logged as slow
	maxErrorText = 2000        // bytes of a logged error

	// statusGone is nginx's status of a request whose client closed the connection before the response.
	statusGone = 499
)

// The values of typeKey, in the entries of PocketBase's log about requests.
const (
	typeKey      = "type"
	typeRequest  = "request" // PocketBase's own
	typeRefusals = "refusals"
)

// IsAbout reports whether an entry of PocketBase's log is about requests.
func IsAbout(record slog.Record) (found bool) {
	record.Attrs(func(attr slog.Attr) bool {
		found = attr.Key == typeKey && (attr.Value.String() == typeRequest || attr.Value.String() == typeRefusals)
		return !found
	})
	return found
}

const (
	waitsKey = "contactbaseWaits"
	codeKey  = "contactbaseCode"

	parametersKey = "contactbaseParameters"
)

// Waits marks a request that lasts as long as its client wants, such as one that waits for events.
func Waits(e *core.RequestEvent) { e.Set(waitsKey, true) }

func waits(e *core.RequestEvent) bool {
	// open as long as a page of the dashboard
	return e.Get(waitsKey) != nil || strings.HasPrefix(e.Request.URL.Path, "/api/realtime")
}

// SetCode sets the error code of a response, for the log.
func SetCode(e *core.RequestEvent, code string) { e.Set(codeKey, code) }

// CodeOf returns the error code of a response, or "" if it has none.
func CodeOf(e *core.RequestEvent) string {
	code, _ := e.Get(codeKey).(string)
	return code
}

// SetParameters sets the names of the invalid parameters of a request, for the log. It leaves out what can hardly be a
// name, and may be a value.
func SetParameters(e *core.RequestEvent, names []string) {
	isOther := func(name string) bool { return !plainName.MatchString(name) }
	plain := slices.DeleteFunc(slices.Sorted(slices.Values(names)), isOther)
	e.Set(parametersKey, strings.Join(plain[:min(len(plain), maxParameters)], " "))
}

var plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z-]{0,31}$`)

const maxParameters = 5

// ParametersOf returns the names of the invalid parameters of a request, separated by spaces.
func ParametersOf(e *core.RequestEvent) string {
	names, _ := e.Get(parametersKey).(string)
	return names
}

// ObserverID is the id of the middleware, for routes that unbind it.
const ObserverID = "contactbaseObserveRequests"

// Observe returns a middleware that measures requests by route and status, and logs each refused, failed or slow one.
// The route is the pattern, never the path, which may contain a token. Requests whose path is not ours are counted
// together. Observe calls answered with each request, the status of its response, and how long it took: 0 if it waited
// for events. The registerer and the log may be nil.
func Observe(
	registerer prometheus.Registerer, log *slog.Logger, refusals *Refusals,
	answered func(e *core.RequestEvent, status int, took time.Duration),
) (*hook.Handler[*core.RequestEvent], error) {
	m, err := newMetrics(registerer)
	if err != nil {
		return nil, err
	}
	return &hook.Handler[*core.RequestEvent]{
		Id:       ObserverID,
		Priority: order.RequestsObserved,
		Func: func(e *core.RequestEvent) error {
			began, response := time.Now(), e.Response // which compression may wrap
			pattern, isOurs, kind := e.Request.Pattern, refusals.ours(e.Request.URL.Path), kind{method: "other", route: "other"}
			if isOurs {
				kind.method, kind.route = KnownMethod(e.Request.Method), pattern
			}
			err := e.Next()
			took, waited := time.Since(began), waits(e)
			if waited {
				took = 0
			}
			status := statusOf(e, err)
			answered(e, status, took)
			kind.status = status
			if isGone := errors.Is(e.Request.Context().Err(), context.Canceled); isGone &&
				status >= http.StatusInternalServerError {
				kind.status = statusGone
			}
			series := m.seriesOf(kind)
			series.requests.Inc()
			if !waited {
				series.duration.Observe(took.Seconds())
			}
			if log != nil && (kind.status >= http.StatusBadRequest || took >= slowAfter) {
				write(log, e, err, pattern, kind.status, took)
			}
			return refusals.keepOut(e, response, status, isOurs, err)
		},
	}, nil
}

// statusOf returns the status of the response, or the status that err will have.
func statusOf(e *core.RequestEvent, err error) int {
	status := e.Status()
	if status == 0 && err != nil {
		status = apis.ToApiError(err).Status
	}
	return status
}

// write logs a request, without anything that the client has sent but the names of invalid parameters. It logs the
// error only if the server has failed.
func write(log *slog.Logger, e *core.RequestEvent, err error, route string, status int, took time.Duration) {
	level, message := slog.LevelWarn, "slow request"
	attrs := make([]slog.Attr, 0, 8)
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("requestId", ID(e))
	add("method", KnownMethod(e.Request.Method))
	add("route", route)
	attrs = append(attrs, slog.Int("status", status), slog.Float64("ms", float64(took.Microseconds())/1000))
	add("code", CodeOf(e))
	add("parameters", ParametersOf(e))
	add("client", clientOf(e))
	switch {
	case status >= http.StatusInternalServerError && !fault.Code(CodeOf(e)).IsPlanned():
		level, message = slog.LevelError, "request failed"
		if err != nil {
			text := err.Error()
			add("error", text[:min(len(text), maxErrorText)])
		}
	case status == statusGone:
		level, message = slog.LevelInfo, "caller gone"
	case status >= http.StatusBadRequest:
		level, message = slog.LevelInfo, "request refused"
	}
	log.LogAttrs(e.Request.Context(), level, message, attrs...)
}
