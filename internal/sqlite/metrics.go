package sqlite

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	holdMetric = prometheus.NewDesc("contactbase_writer_hold_seconds",
		"How long one write of data.db held the writer lock.", nil, nil)
	waitMetric = prometheus.NewDesc("contactbase_writer_wait_seconds",
		"How long writes of data.db waited for the writer lock.", nil, nil)
	commitMetric = prometheus.NewDesc("contactbase_writer_commit_seconds",
		"How long commits of data.db took. Each waits for the disk.", nil, nil)
	longestMetric = prometheus.NewDesc("contactbase_writer_longest_hold_seconds",
		"The longest time that one write of data.db held the writer lock since the start.", nil, nil)
	commitsMetric = prometheus.NewDesc("contactbase_writer_commits_total",
		"Commits of data.db. Each may hold many writes.", nil, nil)
	writesMetric = prometheus.NewDesc("contactbase_writer_writes_total",
		"Transactions and single writes of data.db.", nil, nil)
)

// collector reads the counters of the writer at each scrape.
type collector struct{ app core.App }

// NewCollector returns the metrics of the app's writer.
func NewCollector(app core.App) prometheus.Collector { return collector{app} }

// Describe implements prometheus.Collector.
func (c collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{holdMetric, waitMetric, commitMetric, longestMetric, commitsMetric, writesMetric} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(found chan<- prometheus.Metric) {
	w := writerOf(c.app)
	if w == nil {
		return
	}
	for description, times := range map[*prometheus.Desc]*durations{holdMetric: &w.holdTimes, waitMetric: &w.lock.waits, commitMetric: &w.commitTimes} {
		count, sum, below := times.histogram()
		found <- prometheus.MustNewConstHistogram(description, count, sum, below)
	}
	stats := statsOf(w)
	found <- prometheus.MustNewConstMetric(longestMetric, prometheus.GaugeValue, stats.Longest.Seconds())
	found <- prometheus.MustNewConstMetric(commitsMetric, prometheus.CounterValue, float64(stats.Commits))
	found <- prometheus.MustNewConstMetric(writesMetric, prometheus.CounterValue, float64(stats.Writes))
}
