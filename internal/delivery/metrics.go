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
	inFlight prometheus.GaugeFunc
	backlog  []backlogGauge
}

// backlogGauge is a metric of the backlog.
type backlogGauge struct {
	*prometheus.Desc
	value func(Backlog) float64
}

// newMetrics registers the engine's metrics, unless registerer is nil.
func newMetrics(engine *Engine, registerer prometheus.Registerer) *metrics {
	gauge := func(name, help string, value func(Backlog) float64) backlogGauge {
		return backlogGauge{prometheus.NewDesc("contactbase_delivery_"+name, help, nil, nil), value}
	}
	age := func(since time.Time) float64 {
		if since.IsZero() {
			return 0
		}
		return max(0, engine.options.Now().Sub(since).Seconds())
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
		inFlight: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "contactbase_delivery_in_flight", Help: "Attempts in flight.",
		}, func() float64 { return float64(engine.flying.Load()) }),
		backlog: []backlogGauge{
			gauge("pending", "Pending deliveries.", func(b Backlog) float64 { return float64(b.Pending) }),
			gauge("fanout_lag_events", "Events that have no deliveries yet.",
				func(b Backlog) float64 { return float64(b.FanOut) }),
			gauge("oldest_pending_seconds", "Age of the oldest pending delivery or event without deliveries.",
				func(b Backlog) float64 { return age(b.Oldest) }),
			gauge("fanout_lag_seconds", "Age of the oldest event that has no deliveries yet.",
				func(b Backlog) float64 { return age(b.OldestFanOut) }),
			gauge("disabled_endpoints", "Webhooks that are disabled.", func(b Backlog) float64 { return float64(b.Disabled) }),
		},
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

func (m *metrics) Describe(descriptions chan<- *prometheus.Desc) {
	m.attempts.Describe(descriptions)
	m.latency.Describe(descriptions)
	m.inFlight.Describe(descriptions)
	for _, g := range m.backlog {
		descriptions <- g.Desc
	}
}

func (m *metrics) Collect(found chan<- prometheus.Metric) {
	m.attempts.Collect(found)
	m.latency.Collect(found)
	m.inFlight.Collect(found)
	backlog, err := m.engine.options.Backlog(context.Background())
	for _, g := range m.backlog {
		if err != nil {
			found <- prometheus.NewInvalidMetric(g.Desc, err)
		} else {
			found <- prometheus.MustNewConstMetric(g.Desc, prometheus.GaugeValue, g.value(backlog))
		}
	}
}
