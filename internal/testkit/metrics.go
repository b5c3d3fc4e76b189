package testkit

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics returns the values of all metrics by name and label values, separated by spaces. The value of a histogram
// is its number of observations.
func Metrics(tb testing.TB, gatherer prometheus.Gatherer) map[string]float64 {
	tb.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		tb.Fatalf("gathering the metrics: %v", err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}
