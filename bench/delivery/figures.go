package main

import (
	"fmt"
	"slices"
	"time"
)

// quantile returns a quantile of sorted durations, 0 where there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// spread returns the median with the least and the most.
func spread(values []float64, format string) string {
	sorted := slices.Sorted(slices.Values(values))
	return fmt.Sprintf(format+" ("+format+"–"+format+")", sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1])
}

func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}
