package main

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"contactbase/bench/receiver"
)

// latency measures how long an event takes to its arrival.
func (b *bench) latency() error {
	const perSecond = 20
	b.section("Latency: %d events/s, one receiver that answers immediately, %s a run", perSecond, *length)
	all := &stopwatch{}
	for round := range *rounds {
		found, err := b.arrivals(1, nil, perSecond, uint64(round))
		if err != nil {
			return err
		}
		all.stamped, all.answered = append(all.stamped, found.stamped...), append(all.answered, found.answered...)
	}
	b.titles("from | p50 | p90 | p99 | most | events")
	for _, row := range []struct {
		from      string
		latencies []time.Duration
	}{{"the event's timestamp, before the commit", all.stamped}, {"the client's answer, after the commit", all.answered}} {
		l := slices.Sorted(slices.Values(row.latencies))
		b.row(row.from, short(quantile(l, .5)), short(quantile(l, .9)),
			short(quantile(l, .99)), short(quantile(l, 1)), strconv.Itoa(len(l)))
	}
	return nil
}

// isolation measures how long events take to healthy receivers with and without two bad ones beside them.
func (b *bench) isolation() error {
	const healthy, perSecond = 10, 50
	b.section("Isolation: %d events/s, each to %d healthy receivers, "+
		"alone and beside one that hangs and one that drips a byte a second; %s a run", perSecond, healthy, *length)
	bad := []func(net.Conn) error{receiver.Never, receiver.Drip}
	b.titles("round | p50 alone | p50 beside | p99 alone | p99 beside | ratio of p99")
	var all [2][]time.Duration // alone and beside
	var ratios []float64
	for round := range *rounds {
		var now [2][]time.Duration
		for _, which := range []int{round % 2, 1 - round%2} {
			found, err := b.arrivals(healthy, bad[:2*which], perSecond, uint64(round))
			if err != nil {
				return err
			}
			now[which], all[which] = found.stamped, append(all[which], found.stamped...)
		}
		ratios = append(ratios, b.isolationRow(strconv.Itoa(round+1), now))
	}
	b.isolationRow("all", all)
	b.row("median of the ratios", "", "", "", "", spread(ratios))
	return nil
}

func (b *bench) isolationRow(name string, found [2][]time.Duration) (ratio float64) {
	alone, beside := slices.Sorted(slices.Values(found[0])), slices.Sorted(slices.Values(found[1]))
	ratio = float64(quantile(beside, .99)) / float64(quantile(alone, .99))
	b.row(name, short(quantile(alone, .5)), short(quantile(beside, .5)),
		short(quantile(alone, .99)), short(quantile(beside, .99)), short(ratio))
	return ratio
}

// arrivals creates contacts at a rate. Their events go to so many healthy receivers, and to bad ones that answer
// in the given ways.
func (b *bench) arrivals(healthy int, bad []func(net.Conn) error, perSecond float64, seed uint64) (*stopwatch, error) {
	i, err := b.installation()
	if err != nil {
		return nil, err
	}
	defer i.remove()
	watch, others := &stopwatch{}, &hooks{}
	watch.reset()
	i.hooks.take = watch.arrive
	defer others.close()
	for _, answer := range bad {
		if err := others.add(i.server, i.member, 1, answer); err != nil {
			return nil, err
		}
	}
	if err := i.hooks.add(i.server, i.member, healthy, receiver.AtOnce); err != nil {
		return nil, err
	}
	if err := i.start(); err != nil {
		return nil, err
	}
	defer i.stop()
	p := pace{
		perSecond: perSecond, length: 3 * warmUp, seed: seed,
		next: creates(&population{members: []member{i.member}}), answered: watch.answer,
	}
	warmed, err := p.run(i.base)
	if err != nil {
		return nil, err
	}
	if err := i.hooks.await(i.server, warmed.sent*healthy); err != nil {
		return nil, err
	}
	watch.reset()
	p.length, p.seed = *length, seed+100
	sent, err := p.run(i.base)
	if err != nil {
		return nil, err
	}
	if err := i.hooks.await(i.server, (warmed.sent+sent.sent)*healthy); err != nil {
		return nil, err
	}
	if len(watch.answered) != sent.sent*healthy {
		return nil, fmt.Errorf("%d of %d arrivals are of known contacts", len(watch.answered), sent.sent*healthy)
	}
	return watch, nil
}

// stopwatch measures how long events take to their arrival.
type stopwatch struct {
	mu       sync.Mutex
	answers  map[string]time.Time   // when the client had its answer, by contact
	early    map[string][]time.Time // arrivals before that
	stamped  []time.Duration        // from the events' timestamps, which are set in the transactions
	answered []time.Duration        // from the clients' answers
}

// reset forgets all events.
func (w *stopwatch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers, w.early, w.stamped, w.answered = map[string]time.Time{}, map[string][]time.Time{}, nil, nil
}

// arrive records the arrival of an event.
func (w *stopwatch) arrive(body []byte, at time.Time) {
	stamp, err := time.Parse(time.RFC3339, receiver.Text(body, "timestamp"))
	_, data, _ := bytes.Cut(body, []byte(`"data":`))
	contact := receiver.Text(data, "id")
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stamped = append(w.stamped, at.Sub(stamp))
	if answer, known := w.answers[contact]; known {
		w.answered = append(w.answered, at.Sub(answer))
		return
	}
	w.early[contact] = append(w.early[contact], at)
}

// answer records the answer to a create.
func (w *stopwatch) answer(got answer) {
	at, contact := time.Now(), receiver.Text(got.body, "id")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[contact] = at
	for _, arrival := range w.early[contact] {
		w.answered = append(w.answered, arrival.Sub(at))
	}
	delete(w.early, contact)
}
