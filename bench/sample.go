package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// sample is the figures of a measurement.
type sample struct {
	sent      int
	elapsed   time.Duration
	p50, p99  time.Duration
	cpu       time.Duration // of the server, for each request
	memory    int           // of the server at its peak, in MiB
	perSecond float64
}

// recorder collects the latencies of requests, and the first error.
type recorder struct {
	mu        sync.Mutex
	latencies []time.Duration
	err       error
}

func (r *recorder) add(latencies []time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies = append(r.latencies, latencies...)
	if r.err == nil {
		r.err = err
	}
}

func (r *recorder) sample(elapsed time.Duration) (sample, error) {
	slices.Sort(r.latencies)
	s := sample{sent: len(r.latencies), p50: quantile(r.latencies, .5), p99: quantile(r.latencies, .99)}
	s.took(elapsed)
	return s, r.err
}

// took sets how long the measurement took.
func (s *sample) took(elapsed time.Duration) {
	s.elapsed, s.perSecond = elapsed, float64(s.sent)/elapsed.Seconds()
}

// samples are the rounds of a measurement.
type samples []sample

func (s samples) rate() float64 {
	return median(each(s, func(s sample) float64 { return s.perSecond }))
}

func (s samples) memory() int { return slices.Max(each(s, func(s sample) int { return s.memory })) }

// figures are the columns of rates, latencies and processor time: medians of the rounds.
func (s samples) figures() []string {
	return []string{
		spread(each(s, func(s sample) float64 { return s.perSecond })),
		short(median(each(s, func(s sample) time.Duration { return s.p50 }))),
		short(median(each(s, func(s sample) time.Duration { return s.p99 }))),
		s.cpu(),
	}
}

const figureTitles = "requests/s (min–max) | p50 | p99 | CPU/request"

func (s samples) cpu() string {
	return median(each(s, func(s sample) time.Duration { return s.cpu })).Round(time.Microsecond).String()
}

func each[S ~[]E, E, V any](all S, of func(E) V) []V {
	values := make([]V, 0, len(all))
	for _, one := range all {
		values = append(values, of(one))
	}
	return values
}

func median[V ~int64 | ~float64](values []V) V {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// quantile returns a quantile of sorted values; 0 if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// spread returns the median, the least and the most.
func spread[V ~int64 | ~float64](values []V) string {
	return fmt.Sprintf("%s (%s–%s)", short(median(values)), short(slices.Min(values)), short(slices.Max(values)))
}

// short returns a value without digits that mean nothing.
func short[V cmp.Ordered](value V) string {
	switch v := any(value).(type) {
	case time.Duration:
		if v >= 10*time.Millisecond {
			return v.Round(100 * time.Microsecond).String()
		}
		return v.Round(10 * time.Microsecond).String()
	case float64:
		if v >= 100 {
			return fmt.Sprintf("%.0f", v)
		}
		return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	}
	return fmt.Sprint(value)
}
