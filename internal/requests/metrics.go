package requests

import (
	"strconv"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/prometheus/client_golang/prometheus"
)

// Counter counts requests by route and status. The route is the pattern, never the address, which may hold a token; requests that are
// not ours count together.
func Counter(registerer prometheus.Registerer, ours func(path string) bool) (*hook.Handler[*core.RequestEvent], error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "contactbase_http_requests_total",
		Help: "Requests answered, by method, route and status.",
	}, []string{"method", "route", "status"})
	if err := registerer.Register(requests); err != nil {
		return nil, err
	}
	return &hook.Handler[*core.RequestEvent]{
		Id:       CounterID,
		Priority: apis.DefaultPanicRecoverMiddlewarePriority - 6, // outside of the envelope: it sees the answered status
		Func: func(e *core.RequestEvent) error {
			route, method := "other", "other"
			if ours(e.Request.URL.Path) {
				route, method = e.Request.Pattern, e.Request.Method
			}
			err := e.Next()
			status := e.Status()
			if status == 0 && err != nil {
				status = apis.ToApiError(err).Status
			}
			requests.WithLabelValues(knownMethod(method), route, strconv.Itoa(status)).Inc()
			return err
		},
	}, nil
}

// knownMethod keeps a caller from making up methods, each of which would be a metric of its own.
func knownMethod(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return method
	default:
		return "other"
	}
}
