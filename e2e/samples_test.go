package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sampleEvery is how often the metrics are sampled.
const sampleEvery = 2 * time.Second

// flat has the metrics that must not grow under a constant load, each with the variation that is allowed in
// addition to 15 %.
var flat = map[string]float64{
	"process_resident_memory_bytes": 16 << 20,
	"go_goroutines":                 50,
	"process_open_fds":              30,
}

// samples are the values of the flat metrics, the oldest first.
type samples map[string][]float64

// sample samples the metrics until ctx ends.
func sample(ctx context.Context, t *testing.T, metrics *client) samples {
	t.Helper()
	taken := samples{}
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		answer, err := metrics.try(http.MethodGet, "/metrics", "")
		if err != nil {
			t.Errorf("reading the metrics: %v", err)
			return taken
		}
		for name := range flat {
			taken[name] = append(taken[name], metric(t, answer.body, name))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return taken
		}
	}
}

// metric returns the value of a metric without labels.
func metric(t *testing.T, exposition []byte, name string) float64 {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(exposition))
	for lines.Scan() {
		text, found := strings.CutPrefix(lines.Text(), name+" ")
		if !found {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Errorf("the metric %s is %q", name, text)
		}
		return value
	}
	t.Errorf("there is no metric %s", name)
	return 0
}

// growth compares the last quarter of the samples with the first quarter after the warm-up, and returns the
// metrics that have grown.
func (s samples) growth() (report []string, grown []string) {
	for name, slack := range flat {
		values := s[name]
		values = values[len(values)/5:]
		quarter := max(1, len(values)/4)
		first, last := median(values[:quarter]), median(values[len(values)-quarter:])
		line := fmt.Sprintf("%s: %.0f first, %.0f last, at most %.0f, in %d samples", name, first, last, slices.Max(values), len(values))
		report = append(report, line)
		if last > first*1.15+slack {
			grown = append(grown, line)
		}
	}
	slices.Sort(report)
	return report, grown
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// A leak is detected, and variation is not taken for one.
func TestGrowth(t *testing.T) {
	t.Parallel()
	steady, leaking := samples{}, samples{}
	for name, slack := range flat {
		for n := range 500 {
			wave := slack * float64(n%10) / 10
			steady[name] = append(steady[name], 10*slack+wave)
			leaking[name] = append(leaking[name], 10*slack+wave+slack*float64(n)/50)
		}
	}
	if _, grown := steady.growth(); len(grown) > 0 {
		t.Errorf("variation is reported as growth: %v", grown)
	}
	if _, grown := leaking.growth(); len(grown) != len(flat) {
		t.Errorf("of %d growing metrics, these are reported: %v", len(flat), grown)
	}
}
