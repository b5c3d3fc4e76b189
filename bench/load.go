package main

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// request is what a worker sends next; number counts up over all workers.
type request func(number int64, random *rand.Rand) call

// call is one HTTP request.
type call struct {
	method, path, body string
	key                string // instead of the target's own, "" for that
}

// load is a phase's figures.
type load struct {
	perSecond     float64
	p50, p99      time.Duration
	errors        int64
	firstError    string
	sent, elapsed int64
}

// run sends requests over connections that are kept alive, one after the other on each, for a bounded time or until
// limit of them are sent (0 for no limit).
func run(base string, header http.Header, connections int, length time.Duration, limit int64, next request) load {
	var number, failures atomic.Int64
	var mu sync.Mutex
	var latencies []time.Duration
	var first string
	end := time.Now().Add(length)
	started := time.Now()
	var group sync.WaitGroup
	for worker := range connections {
		group.Add(1)
		go func() {
			defer group.Done()
			random := rand.New(rand.NewPCG(uint64(worker), 7))
			connection := connection{base: base, header: header}
			defer connection.close()
			var own []time.Duration
			for time.Now().Before(end) {
				n := number.Add(1)
				if limit > 0 && n > limit {
					break
				}
				c := next(n, random)
				began := time.Now()
				if err := connection.exchange(c); err != nil {
					failures.Add(1)
					mu.Lock()
					if first == "" {
						first = err.Error()
					}
					mu.Unlock()
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			latencies = append(latencies, own...)
			mu.Unlock()
		}()
	}
	group.Wait()
	elapsed := time.Since(started)
	return loadOf(latencies, elapsed, failures.Load(), first)
}

func loadOf(latencies []time.Duration, elapsed time.Duration, failures int64, first string) load {
	slices.Sort(latencies)
	result := load{errors: failures, firstError: first, sent: int64(len(latencies)), elapsed: int64(elapsed)}
	if len(latencies) > 0 {
		result.perSecond = float64(len(latencies)) / elapsed.Seconds()
		result.p50 = latencies[len(latencies)/2]
		result.p99 = latencies[len(latencies)*99/100]
	}
	return result
}

// last adds the time in which what was put off is done.
func (l *load) last(more time.Duration) {
	l.elapsed += int64(more)
	l.perSecond = float64(l.sent) / time.Duration(l.elapsed).Seconds()
}
