package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// table collects what was measured, by phase and server.
type table struct {
	rates   map[string]map[string][]float64
	last    map[string]map[string]load
	perCall map[string]map[string]time.Duration
	header  bool
}

func newTable() *table {
	return &table{map[string]map[string][]float64{}, map[string]map[string]load{}, map[string]map[string]time.Duration{}, false}
}

func (t *table) add(phase, server string, measured load, cpu time.Duration) {
	if t.rates[phase] == nil {
		t.rates[phase], t.last[phase], t.perCall[phase] = map[string][]float64{}, map[string]load{}, map[string]time.Duration{}
	}
	t.rates[phase][server] = append(t.rates[phase][server], measured.perSecond)
	t.last[phase][server] = measured
	if measured.sent > 0 {
		t.perCall[phase][server] = cpu / time.Duration(measured.sent)
	}
}

// print writes the phase's row: medians with the least and the most, and their ratio.
func (t *table) print(out io.Writer, phase string) {
	if !t.header {
		t.header = true
		fmt.Fprintln(out, "| phase | ours/s (min–max) | plain/s (min–max) | ratio | our p50 | our p99 | plain p99 | our CPU/request | plain CPU/request |")
		fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|")
	}
	ours, plain := t.rates[phase]["ours"], t.rates[phase]["plain"]
	ratio := "–"
	if len(plain) > 0 {
		ratio = fmt.Sprintf("%.2f", median(ours)/median(plain))
	}
	last := t.last[phase]
	fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", phase, spread(ours), spread(plain), ratio,
		short(last["ours"].p50), short(last["ours"].p99), short(last["plain"].p99), short(t.perCall[phase]["ours"]), short(t.perCall[phase]["plain"]))
}

func spread(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f (%.0f–%.0f)", median(values), slices.Min(values), slices.Max(values))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func short(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return d.Round(10 * time.Microsecond).String()
}
