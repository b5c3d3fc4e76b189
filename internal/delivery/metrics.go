package delivery

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The results of attempts, as the label of the counter.
const (
	resultDelivered = "delivered"
	resultRetry     = "retry"
	resultFailed    = "failed"
)

// metrics are the engine's. The backlog is read when Prometheus asks.
type metrics struct {
	engine   *Engine
	attempts *prometheus.CounterVec
	latency  prometheus.Histogram

	pending  *prometheus.Desc
	lag      *prometheus.Desc
	oldest   *prometheus.Desc
	lagAge   *prometheus.Desc
	disabled *prometheus.Desc
	inFlight *prometheus.Desc
}

// newMetrics registers the engine's metrics, unless registerer is nil.
func newMetrics(engine *Engine, registerer prometheus.Registerer) *metrics {
	describe := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("contactbase_delivery_"+name, help, nil, nil)
	}
	m := &metrics{
		engine: engine,
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "contactbase_delivery_attempts_total",
			Help: "Attempts to deliver an event, by result: delivered, retry or failed.",
		}, []string{"result"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "contactbase_delivery_latency_seconds",
			Help:    "Time from the commit of a change to the endpoint's response, for events delivered at the first attempt.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}),
		pending:  describe("pending", "Pending deliveries."),
		lag:      describe("fanout_lag_events", "Events that have no deliveries yet."),
		oldest:   describe("oldest_pending_seconds", "Age of the oldest pending delivery or event without deliveries."),
		lagAge:   describe("fanout_lag_seconds", "Age of the oldest event that has no deliveries yet."),
		disabled: describe("disabled_endpoints", "Webhooks that are disabled."),
		inFlight: describe("in_flight", "Attempts in flight."),
	}
	for _, result := range []string{resultDelivered, resultRetry, resultFailed} {
		m.attempts.WithLabelValues(result) // 0 before the first
	}
	if registerer != nil {
		registerer.MustRegister(m)
	}
	return m
}

// observe counts a result.
func (m *metrics) observe(result Result, now time.Time) {
	label := resultRetry
	switch result.Decision.Status {
	case StatusDelivered:
		label = resultDelivered
		if result.Job.Attempt == 1 {
			m.latency.Observe(max(0, now.Sub(result.Job.EventCreated).Seconds()))
		}
	case StatusFailed:
		label = resultFailed
	}
	m.attempts.WithLabelValues(label).Inc()
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(descriptions chan<- *prometheus.Desc) {
	m.attempts.Describe(descriptions)
	m.latency.Describe(descriptions)
	for _, d := range []*prometheus.Desc{m.pending, m.lag, m.oldest, m.lagAge, m.disabled, m.inFlight} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(found chan<- prometheus.Metric) {
	m.attempts.Collect(found)
	m.latency.Collect(found)
	gauge := func(description *prometheus.Desc, value float64) {
		found <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value)
	}
	gauge(m.inFlight, float64(m.engine.flying.Load()))

	backlog, err := m.engine.store.Backlog(context.Background())
	if err != nil {
		for _, d := range []*prometheus.Desc{m.pending, m.lag, m.oldest, m.lagAge, m.disabled} {
			found <- prometheus.NewInvalidMetric(d, err)
		}
		return
	}
	age := func(since time.Time) float64 {
		if since.IsZero() {
			return 0
		}
		return max(0, m.engine.options.Now().Sub(since).Seconds())
	}
	gauge(m.pending, float64(backlog.Pending))
	gauge(m.lag, float64(backlog.FanOut))
	gauge(m.oldest, age(backlog.Oldest))
	gauge(m.lagAge, age(backlog.OldestFanOut))
	gauge(m.disabled, float64(backlog.Disabled))
}
