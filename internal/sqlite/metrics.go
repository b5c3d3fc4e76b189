package sqlite

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	turnsMetric = prometheus.NewDesc("contactbase_writer_turn_seconds",
		"For how long one writer of data.db kept all others waiting.", nil, nil)
	longestMetric = prometheus.NewDesc("contactbase_writer_longest_turn_seconds",
		"The longest turn of a writer of data.db since the start.", nil, nil)
	commitsMetric = prometheus.NewDesc("contactbase_writer_commits_total",
		"Commits of data.db, each of which may hold many writes.", nil, nil)
	writesMetric = prometheus.NewDesc("contactbase_writer_writes_total",
		"Transactions and single writes of data.db.", nil, nil)
)

// collector reads the counters of the writer when somebody asks.
type collector struct{ app core.App }

// NewCollector returns the metrics of the app's writer.
func NewCollector(app core.App) prometheus.Collector { return collector{app} }

// Describe implements prometheus.Collector.
func (c collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{turnsMetric, longestMetric, commitsMetric, writesMetric} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(found chan<- prometheus.Metric) {
	w := writerOf(c.app)
	if w == nil {
		return
	}
	count, sum, buckets, longest := w.lengths.histogram()
	found <- prometheus.MustNewConstHistogram(turnsMetric, count, sum, buckets)
	found <- prometheus.MustNewConstMetric(longestMetric, prometheus.GaugeValue, longest)
	found <- prometheus.MustNewConstMetric(commitsMetric, prometheus.CounterValue, float64(w.commits.Load()))
	found <- prometheus.MustNewConstMetric(writesMetric, prometheus.CounterValue, float64(w.writes.Load()))
}
