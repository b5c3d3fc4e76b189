package main

import (
	"fmt"
	"slices"
	"time"

	"contactbase/bench/receiver"
)

// isolation compares how long events take to ten healthy receivers with and without two bad ones beside them.
func isolation(b *bench) error {
	const healthy = 10
	fmt.Fprintf(b.out, "\n### Isolation: %.0f events/s, each to %d healthy receivers, alone and beside one that hangs and one that drips a byte a second; %s a run\n\n",
		*rate, healthy, *length)
	fmt.Fprintln(b.out, "| round | p50 alone | p50 beside | p99 alone | p99 beside | ratio of p99 |")
	fmt.Fprintln(b.out, "|---|---|---|---|---|---|")
	hanging, err := receiver.New(receiver.Never, nil)
	if err != nil {
		return err
	}
	defer hanging.Close()
	dripping, err := receiver.New(receiver.Drip, nil)
	if err != nil {
		return err
	}
	defer dripping.Close()
	var alone, beside []time.Duration
	var ratios []float64
	for round := range *rounds {
		var latencies [2][]time.Duration
		for _, turn := range []int{round % 2, 1 - round%2} { // what comes first has no advantage
			var bad []string
			if turn == 1 {
				bad = []string{hanging.URL, dripping.URL}
			}
			stamped, _, err := b.pace(healthy, bad, *rate)
			if err != nil {
				return err
			}
			slices.Sort(stamped)
			latencies[turn] = stamped
		}
		ratios = append(ratios, b.comparison(fmt.Sprint(round+1), latencies[0], latencies[1]))
		alone, beside = append(alone, latencies[0]...), append(beside, latencies[1]...)
	}
	slices.Sort(alone)
	slices.Sort(beside)
	b.comparison("all", alone, beside)
	fmt.Fprintf(b.out, "\nMedian of the rounds' ratios: %s\n", spread(ratios, "%.2f"))
	return nil
}

func (b *bench) comparison(name string, alone, beside []time.Duration) (ratio float64) {
	ratio = float64(quantile(beside, .99)) / float64(quantile(alone, .99))
	fmt.Fprintf(b.out, "| %s | %s | %s | %s | %s | %.2f |\n", name, short(quantile(alone, .5)), short(quantile(beside, .5)),
		short(quantile(alone, .99)), short(quantile(beside, .99)), ratio)
	return ratio
}
