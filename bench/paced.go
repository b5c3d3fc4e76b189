package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	leastPaced   = 10 * time.Second // so that a hundredth of the requests are more than a few
	perNeighbour = 50               // creates a second of the tenant beside a flood
)

// pace is creates that come at a rate.
type pace struct {
	name      string
	target    *target
	perSecond float64
	next      request
	flood     *flood // what others send meanwhile, nil for nothing
	measured  []load
}

// paceCreates measures how long creates take at half of the rate that was reached, and those of a tenant while another one
// sends as many as it can.
func (s *suite) paceCreates() error {
	neighbour, err := s.newTenant("Neighbour")
	if err != nil {
		return err
	}
	paces := s.pacesOf(s.ours, ourContacts, "", func(int64, *rand.Rand) call {
		return call{"POST", ourContacts, contact(rand.Int64N(1<<40), ""), neighbour}
	})
	if s.plain != nil {
		paces = append(paces, s.pacesOf(s.plain, plainContacts, benchTenant, create(plainContacts, "neighbourneighb"))...)
	}
	for range *rounds {
		for _, p := range paces {
			if err := p.measure(); err != nil {
				return fmt.Errorf("%s, %s: %w", p.target.name, p.name, err)
			}
		}
	}
	s.pacedTable = tableOfPaces(paces)
	return nil
}

func (s *suite) pacesOf(t *target, path, tenant string, neighbour request) []*pace {
	half := median(s.measured.rates["create"][t.name]) / 2
	others := &flood{Base: t.base, Path: path, Tenant: tenant, Header: t.header, Connections: *connections, Length: pacedLength()}
	return []*pace{
		{name: "half of the rate above", target: t, perSecond: half, next: create(path, tenant)},
		{name: "a tenant's, by themselves", target: t, perSecond: perNeighbour, next: neighbour},
		{name: "a tenant's, beside a flood of another's", target: t, perSecond: perNeighbour, next: neighbour, flood: others},
	}
}

func pacedLength() time.Duration {
	return max(leastPaced, time.Duration(*seconds*float64(time.Second)))
}

func (p *pace) measure() error {
	wait := func() error { return nil }
	if p.flood != nil {
		var err error
		if wait, err = p.flood.start(); err != nil {
			return err
		}
	}
	loaded := p.target.paced(p.perSecond, pacedLength(), p.next)
	if err := wait(); err != nil {
		return fmt.Errorf("the flood: %w", err)
	}
	if loaded.errors > 0 {
		return fmt.Errorf("%d errors, such as %s", loaded.errors, loaded.firstError)
	}
	p.measured = append(p.measured, loaded)
	return nil
}

// paced sends requests at a rate, at moments that are random and do not wait for answers. What it measures runs from when a
// request was due, so that any waiting counts, for the processors too.
func (t *target) paced(perSecond float64, length time.Duration, next request) load {
	var mu sync.Mutex
	var free []*connection
	defer func() {
		for _, c := range free {
			c.close()
		}
	}()
	var latencies []time.Duration
	var failures int64
	var first string
	var group sync.WaitGroup
	began := time.Now()
	random := rand.New(rand.NewPCG(1, 7))
	for sent, at := int64(1), time.Duration(0); at < length; sent++ {
		c, due := next(sent, random), began.Add(at)
		sleepUntil(due)
		group.Go(func() {
			mu.Lock()
			connection := &connection{base: t.base, header: t.header}
			if n := len(free); n > 0 {
				connection, free = free[n-1], free[:n-1]
			}
			mu.Unlock()
			err := connection.exchange(c)
			latency := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			free = append(free, connection)
			latencies = append(latencies, latency)
			if err != nil {
				failures++
				first = err.Error()
			}
		})
		at += time.Duration(random.ExpFloat64() / perSecond * float64(time.Second))
	}
	group.Wait()
	return loadOf(latencies, time.Since(began), failures, first)
}

// sleepUntil is a more exact time.Sleep, which may be late by a millisecond where nothing else goes on.
func sleepUntil(due time.Time) {
	for wait := time.Until(due); wait > 0; wait = time.Until(due) {
		left := syscall.NsecToTimespec(int64(wait))
		_ = syscall.Nanosleep(&left, nil) // a signal ends it early
	}
}

// tableOfPaces returns a row for each, with the ratio to the row above where there was a flood.
func tableOfPaces(paces []*pace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| creates at random moments, measured from when they were due | creates/s | p50 (min–max) | p99 (min–max) | p99 by p99 without the flood |\n|---|---|---|---|---|\n")
	for i, p := range paces {
		ratio := "–"
		if p.flood != nil {
			var ratios []float64
			for round, loaded := range p.measured {
				ratios = append(ratios, float64(loaded.p99)/float64(paces[i-1].measured[round].p99))
			}
			ratio = fmt.Sprintf("%.2f (%.2f–%.2f)", median(ratios), slices.Min(ratios), slices.Max(ratios))
		}
		fmt.Fprintf(&b, "| %s: %s | %.0f | %s | %s | %s |\n", p.target.name, p.name, p.perSecond,
			p.times(func(l load) time.Duration { return l.p50 }), p.times(func(l load) time.Duration { return l.p99 }), ratio)
	}
	return b.String()
}

// times returns the median of the rounds, with the least and the most.
func (p *pace) times(of func(load) time.Duration) string {
	var all []time.Duration
	for _, loaded := range p.measured {
		all = append(all, of(loaded))
	}
	slices.Sort(all)
	return fmt.Sprintf("%s (%s–%s)", short(all[len(all)/2]), short(all[0]), short(all[len(all)-1]))
}
