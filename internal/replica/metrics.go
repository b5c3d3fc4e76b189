package replica

import "github.com/prometheus/client_golang/prometheus"

var (
	activeMetric = prometheus.NewDesc("contactbase_replica_active",
		"Whether this machine keeps a replica up to date: 1 or 0.", nil, nil)
	lagMetric = prometheus.NewDesc("contactbase_replica_lag_seconds",
		"Age of the oldest commit that the replica lacks.", nil, nil)
	transactionsMetric = prometheus.NewDesc("contactbase_replica_lag_transactions",
		"Commits that the replica lacks.", nil, nil)
	bytesMetric = prometheus.NewDesc("contactbase_replica_lag_bytes",
		"Size of the files that are not uploaded to the replica yet.", nil, nil)
	generationMetric = prometheus.NewDesc("contactbase_replica_generation",
		"Number of the generation that this machine writes.", nil, nil)
	restoreTestMetric = prometheus.NewDesc("contactbase_replica_restore_test_success",
		"Whether the last restore test succeeded: 1 or 0.", nil, nil)
	restoreTestTimeMetric = prometheus.NewDesc("contactbase_replica_restore_test_timestamp_seconds",
		"When the last restore test began.", nil, nil)
)

// Describe implements prometheus.Collector.
func (r *Replica) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		activeMetric, lagMetric, transactionsMetric, bytesMetric,
		generationMetric, restoreTestMetric, restoreTestTimeMetric,
	} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (r *Replica) Collect(metrics chan<- prometheus.Metric) {
	s := r.Status()
	gauge := func(d *prometheus.Desc, value float64) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
	gauge(activeMetric, oneIf(s.State == Active))
	gauge(lagMetric, s.LagSeconds)
	gauge(transactionsMetric, float64(s.LagTransactions))
	gauge(bytesMetric, float64(s.LagBytes))
	gauge(generationMetric, float64(s.Generation))
	if s.RestoreTest != nil {
		gauge(restoreTestMetric, oneIf(s.RestoreTest.Error == ""))
		gauge(restoreTestTimeMetric, float64(s.RestoreTest.At.UnixMilli())/1000)
	}
}

func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}
