package sqlite

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	turnsMetric = prometheus.NewDesc("contactbase_writer_turn_seconds",
		"For how long one writer of data.db kept all others waiting.", nil, nil)
	waitsMetric = prometheus.NewDesc("contactbase_writer_wait_seconds",
		"For how long writers of data.db waited for their turn.", nil, nil)
	commitMetric = prometheus.NewDesc("contactbase_writer_commit_seconds",
		"How long commits of data.db took, each of which waits for the disk.", nil, nil)
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
	for _, d := range []*prometheus.Desc{turnsMetric, waitsMetric, commitMetric, longestMetric, commitsMetric, writesMetric} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(found chan<- prometheus.Metric) {
	w := writerOf(c.app)
	if w == nil {
		return
	}
	for description, times := range map[*prometheus.Desc]*lengths{turnsMetric: &w.turnTimes, waitsMetric: &w.turns.waits, commitMetric: &w.commitTimes} {
		count, sum, below := times.histogram()
		found <- prometheus.MustNewConstHistogram(description, count, sum, below)
	}
	stats := statsOf(w)
	found <- prometheus.MustNewConstMetric(longestMetric, prometheus.GaugeValue, stats.Longest.Seconds())
	found <- prometheus.MustNewConstMetric(commitsMetric, prometheus.CounterValue, float64(stats.Commits))
	found <- prometheus.MustNewConstMetric(writesMetric, prometheus.CounterValue, float64(stats.Writes))
}
