package sqlite

import (
	"sync"
	"time"
)

// bounds are the upper bounds of the histograms.
var bounds = [...]time.Duration{
	100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second,
}

// lengths counts how long something took each time.
type lengths struct {
	mu      sync.Mutex
	buckets [len(bounds)]uint64 // those up to each bound and above the one before
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
	for i, bound := range bounds {
		if length <= bound {
			l.buckets[i]++
			return
		}
	}
}

// histogram returns the counts as Prometheus has them: of each bound, in seconds, and everything below.
func (l *lengths) histogram() (count uint64, sum float64, below map[float64]uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	below = make(map[float64]uint64, len(bounds))
	var upTo uint64
	for i, bound := range bounds {
		upTo += l.buckets[i]
		below[bound.Seconds()] = upTo
	}
	return l.count, l.sum.Seconds(), below
}

// total returns how often it happened, and how long it took at the most.
func (l *lengths) total() (count uint64, longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count, l.longest
}
