package main

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// request returns the next call. The number counts all calls from 1 on; random belongs to the connection.
type request func(number int64, random *rand.Rand) call

// load is requests over connections that stay open, one after the other on each.
type load struct {
	connections int
	length      time.Duration // at most
	limit       int64         // of requests; 0 for none
	seed        uint64
	next        request
}

// run sends the requests.
func (l load) run(base string) (sample, error) {
	var all recorder
	var number atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for worker := range l.connections {
		group.Go(func() { all.add(l.work(base, uint64(worker), began.Add(l.length), &number)) })
	}
	group.Wait()
	return all.sample(time.Since(began))
}

func (l load) work(
	base string, worker uint64, end time.Time, number *atomic.Int64,
) (latencies []time.Duration, err error) {
	random := rand.New(rand.NewPCG(l.seed, worker))
	c := connection{base: base}
	defer c.close()
	for time.Now().Before(end) {
		n := number.Add(1)
		if l.limit > 0 && n > l.limit {
			break
		}
		request := l.next(n, random)
		began := time.Now()
		if _, err := c.exchange(request); err != nil {
			return nil, err
		}
		latencies = append(latencies, time.Since(began))
	}
	return latencies, nil
}

// pace is requests at random moments, at a rate. They wait for no answers.
type pace struct {
	perSecond float64
	length    time.Duration
	seed      uint64
	next      request
	answered  func(answer) // nil for nothing
}

// run sends the requests. A latency counts from the moment when the request was due, so that it includes any waiting.
func (p pace) run(base string) (sample, error) {
	var all recorder
	var idle pool
	defer idle.close()
	var group sync.WaitGroup
	random := rand.New(rand.NewPCG(p.seed, 0))
	began := time.Now()
	for n, at := int64(1), time.Duration(0); at < p.length; n++ {
		request, due := p.next(n, random), began.Add(at)
		sleepUntil(due)
		group.Go(func() {
			c := idle.take(base)
			got, err := c.exchange(request)
			latency := time.Since(due)
			if err == nil && p.answered != nil {
				p.answered(got)
			}
			idle.put(c)
			all.add([]time.Duration{latency}, err)
		})
		at += time.Duration(random.ExpFloat64() / p.perSecond * float64(time.Second))
	}
	group.Wait()
	return all.sample(time.Since(began))
}

// sleepUntil is more exact than time.Sleep, which may be a millisecond late in an idle program.
func sleepUntil(due time.Time) {
	for wait := time.Until(due); wait > 0; wait = time.Until(due) {
		left := syscall.NsecToTimespec(int64(wait))
		_ = syscall.Nanosleep(&left, nil) // a signal ends it early
	}
}

// pool is connections that no request uses.
type pool struct {
	mu   sync.Mutex
	idle []*connection
}

func (p *pool) take(base string) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return c
	}
	return &connection{base: base}
}

func (p *pool) put(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

func (p *pool) close() {
	for _, c := range p.idle {
		c.close()
	}
}
