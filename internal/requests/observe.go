package requests

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/fault"
)

// IDHeader has the id of a request in the answer.
const IDHeader = "X-Request-Id"

const (
	slowAfter    = time.Second // from which duration on a request is reported as slow
	maxErrorText = 2000        // bytes of what is said about a failure

	// statusGone is what nginx calls the status of a request whose caller hung up before the answer.
	statusGone = 499
)

// What entries of PocketBase's log are about, where they have typeKey.
const (
	typeKey      = "type"
	typeRequest  = "request" // PocketBase's own
	typeRefusals = "refusals"
)

// IsAbout reports whether an entry of PocketBase's log tells of requests.
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
)

// Waits tells that a request takes as long as its caller likes, such as one for events that are yet to happen.
func Waits(e *core.RequestEvent) { e.Set(waitsKey, true) }

func waits(e *core.RequestEvent) bool {
	return e.Get(waitsKey) != nil || strings.HasPrefix(e.Request.URL.Path, "/api/realtime") // which is open as long as a page is
}

// Tell tells by which code a caller was answered an error.
func Tell(e *core.RequestEvent, code string) { e.Set(codeKey, code) }

// CodeOf returns the code that was told, "" where none was.
func CodeOf(e *core.RequestEvent) string {
	code, _ := e.Get(codeKey).(string)
	return code
}

// Observe measures requests, by route and status, and has the log tell of each that was refused, failed or slow. The route is the
// pattern, never the address, which may hold a token; ours tells which addresses are the program's own, and the
// requests elsewhere count together. answered is called with each request and the status of its answer. The registerer and
// the log may be nil.
func Observe(
	registerer prometheus.Registerer, log *slog.Logger, ours func(path string) bool, answered func(e *core.RequestEvent, status int),
) (*hook.Handler[*core.RequestEvent], error) {
	m, err := newMetrics(registerer)
	if err != nil {
		return nil, err
	}
	return &hook.Handler[*core.RequestEvent]{
		Id:       ObserverID,
		Priority: apis.DefaultPanicRecoverMiddlewarePriority - 6, // outside of the envelope: it sees the answered status
		Func: func(e *core.RequestEvent) error {
			began := time.Now()
			pattern, kind := e.Request.Pattern, kind{method: "other", route: "other"}
			if ours(e.Request.URL.Path) {
				kind.method, kind.route = KnownMethod(e.Request.Method), pattern
			}
			err := e.Next()
			took := time.Since(began)
			kind.status = statusOf(e, err)
			answered(e, kind.status)
			if kind.status >= http.StatusInternalServerError && errors.Is(e.Request.Context().Err(), context.Canceled) {
				kind.status = statusGone
			}
			series := m.seriesOf(kind)
			series.answered.Inc()
			waited := waits(e)
			if !waited {
				series.duration.Observe(took.Seconds())
			}
			if log != nil && (kind.status >= http.StatusBadRequest || took >= slowAfter && !waited) {
				write(log, e, err, pattern, kind.status, took)
			}
			return err
		},
	}, nil
}

// statusOf returns the status of the answer, or what it will be where err is not answered yet.
func statusOf(e *core.RequestEvent, err error) int {
	status := e.Status()
	if status == 0 && err != nil {
		status = apis.ToApiError(err).Status
	}
	return status
}

// write logs a request, without anything that its caller has sent. Only of a failure it says why: that is about us.
func write(log *slog.Logger, e *core.RequestEvent, err error, route string, status int, took time.Duration) {
	level, message := slog.LevelWarn, "slow request"
	attrs := make([]slog.Attr, 0, 8)
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("requestId", e.Response.Header().Get(IDHeader))
	add("method", KnownMethod(e.Request.Method))
	add("route", route)
	attrs = append(attrs, slog.Int("status", status), slog.Float64("ms", float64(took.Microseconds())/1000))
	add("code", CodeOf(e))
	add("client", clientOf(e))
	switch {
	case status >= http.StatusInternalServerError && CodeOf(e) != string(fault.TenantMoving): // which somebody has planned
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
