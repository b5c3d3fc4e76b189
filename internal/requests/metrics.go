package requests

import (
	"errors"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts and times requests.
type metrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec

	mu    sync.Mutex
	known atomic.Pointer[map[kind]series] // replaced by a larger map for each new kind, because looking up labels is slow
}

// kind is the method, route and status of requests that are counted together. The number of kinds is limited.
type kind struct {
	method, route string
	status        int
}

// series are the metrics of a kind.
type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

// newMetrics registers the metrics, unless registerer is nil.
func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "contactbase_http_requests_total",
			Help: "Requests, by method, route and status.",
		}, []string{"method", "route", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "contactbase_http_request_duration_seconds",
			Help:    "How long requests took, by method, route and class of status, except requests that wait for events.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"method", "route", "status"}),
	}
	m.known.Store(&map[kind]series{})
	if registerer == nil {
		return m, nil
	}
	return m, errors.Join(registerer.Register(m.requests), registerer.Register(m.durations))
}

func (m *metrics) seriesOf(k kind) series {
	if found, isKnown := (*m.known.Load())[k]; isKnown {
		return found
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known := maps.Clone(*m.known.Load())
	known[k] = series{
		requests: m.requests.WithLabelValues(k.method, k.route, strconv.Itoa(k.status)),
		duration: m.durations.WithLabelValues(k.method, k.route, strconv.Itoa(k.status/100)+"xx"),
	}
	m.known.Store(&known)
	return known[k]
}

// KnownMethod returns the method, or "other" if it is not a common one: each invented method would add a metric.
func KnownMethod(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return method
	default:
		return "other"
	}
}
