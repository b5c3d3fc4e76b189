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

// durations is a histogram of how long something took.
type durations struct {
	mu      sync.Mutex
	buckets [len(bounds)]uint64 // up to each bound and above the one before
	count   uint64
	sum     time.Duration
	longest time.Duration
}

func (h *durations) add(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	h.sum += d
	h.longest = max(h.longest, d)
	for i, bound := range bounds {
		if d <= bound {
			h.buckets[i]++
			return
		}
	}
}

// histogram returns the counts as Prometheus wants them: of each bound, in seconds, and everything below.
func (h *durations) histogram() (count uint64, sum float64, below map[float64]uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	below = make(map[float64]uint64, len(bounds))
	var upTo uint64
	for i, bound := range bounds {
		upTo += h.buckets[i]
		below[bound.Seconds()] = upTo
	}
	return h.count, h.sum.Seconds(), below
}

// total returns how often it happened, and the longest time it took.
func (h *durations) total() (count uint64, longest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count, h.longest
}
