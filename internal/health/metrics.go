package health

import "github.com/prometheus/client_golang/prometheus"

var readyMetric = prometheus.NewDesc("contactbase_ready", "Whether a check of /readyz passes: 1 or 0.", []string{"check"}, nil)

// Describe implements prometheus.Collector.
func (m *Monitor) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- readyMetric }

// Collect implements prometheus.Collector. It makes the checks.
func (m *Monitor) Collect(found chan<- prometheus.Metric) {
	holds := map[string]float64{}
	for _, c := range m.checks {
		holds[c.Name] = 1
	}
	for _, reason := range m.Reasons() {
		holds[reason.Check] = 0
	}
	for name, value := range holds {
		found <- prometheus.MustNewConstMetric(readyMetric, prometheus.GaugeValue, value, name)
	}
}
