package sqlite

import (
	"sync"
	"time"
)

// turnBuckets are the upper bounds of the histogram of turns.
var turnBuckets = [...]time.Duration{
	100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second,
}

// lengths counts how long turns were: for how long each kept all other writers waiting.
type lengths struct {
	mu      sync.Mutex
	buckets [len(turnBuckets)]uint64 // turns up to each bound and above the one before
	count   uint64
	sum     time.Duration
	longest time.Duration
}

func (l *lengths) add(length time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	l.sum += length
	l.longest = max(l.longest, length)
	for i, bound := range turnBuckets {
		if length <= bound {
			l.buckets[i]++
			return
		}
	}
}

// histogram returns the counts as Prometheus has them: of each bound, in seconds, and everything below.
func (l *lengths) histogram() (count uint64, sum float64, buckets map[float64]uint64, longest float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	buckets = make(map[float64]uint64, len(turnBuckets))
	var below uint64
	for i, bound := range turnBuckets {
		below += l.buckets[i]
		buckets[bound.Seconds()] = below
	}
	return l.count, l.sum.Seconds(), buckets, l.longest.Seconds()
}
