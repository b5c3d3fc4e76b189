package sqlite

import (
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	longestMetric = prometheus.NewDesc("contactbase_writer_longest_hold_seconds",
		"The longest time that one write of data.db held the writer lock since the start.", nil, nil)
	commitsMetric = prometheus.NewDesc("contactbase_writer_commits_total",
		"Commits of data.db. Each may contain many writes.", nil, nil)
	writesMetric = prometheus.NewDesc("contactbase_writer_writes_total",
		"Transactions and single writes of data.db.", nil, nil)
)

// times are the histograms of a writer.
type times struct{ hold, wait, commit prometheus.Histogram }

func newTimes() times {
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: []float64{.0001, .001, .005, .01, .015, .03, .05, .1, .15, .25, .5, 1, 5},
		})
	}
	return times{
		hold:   histogram("contactbase_writer_hold_seconds", "How long one write of data.db held the writer lock."),
		wait:   histogram("contactbase_writer_wait_seconds", "How long writes of data.db waited for the writer lock."),
		commit: histogram("contactbase_writer_commit_seconds", "How long commits of data.db took. Each waits for the disk."),
	}
}

// recordHold measures how long a write held the lock.
func (w *writer) recordHold(held time.Duration) {
	w.times.hold.Observe(held.Seconds())
	for {
		longest := w.longestHold.Load()
		if int64(held) <= longest || w.longestHold.CompareAndSwap(longest, int64(held)) {
			return
		}
	}
}

// collector collects the metrics of the app's current writer.
type collector struct{ app core.App }

// NewCollector returns the metrics of the app's writer.
func NewCollector(app core.App) prometheus.Collector { return collector{app} }

// Describe implements prometheus.Collector.
func (c collector) Describe(descriptions chan<- *prometheus.Desc) {
	t := newTimes()
	for _, d := range []*prometheus.Desc{
		t.hold.Desc(), t.wait.Desc(), t.commit.Desc(), longestMetric, commitsMetric, writesMetric,
	} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(metrics chan<- prometheus.Metric) {
	w := writerOf(c.app)
	if w == nil {
		return
	}
	metrics <- w.times.hold
	metrics <- w.times.wait
	metrics <- w.times.commit
	metrics <- prometheus.MustNewConstMetric(longestMetric,
		prometheus.GaugeValue, time.Duration(w.longestHold.Load()).Seconds())
	metrics <- prometheus.MustNewConstMetric(commitsMetric, prometheus.CounterValue, float64(w.commits.Load()))
	metrics <- prometheus.MustNewConstMetric(writesMetric, prometheus.CounterValue, float64(w.writes.Load()))
}
