package body

import (
	"context"
	"slices"
	"sync"
	"time"

	"contactbase/internal/fault"
)

const (
	// Two bodies of more than largeBody bytes are decoded at a time, and more that are smaller: decoding takes up to
	// fifty times their size in memory, until the request has ended.
	largeBody  = 1 << 20
	maxDecoded = 2 * largeBody
	// smallBody is the size up to which a body is decoded at once, in bytes: that takes about a millisecond.
	smallBody = 64 << 10

	// Uploaded files that are read at a time, of one tenant and of all: each takes a processor and some memory.
	ownFiles = 2
	allFiles = 4
)

// turns lets owners share a capacity: the one that uses the least of it comes next.
type turns struct {
	capacity, each int64 // of all, and of one owner
	keepsOne       bool  // two owners never have all
	timeout        time.Duration
	refusal        *fault.Error // after the timeout

	mu      sync.Mutex
	all     int64
	used    map[Owner]int64 // without zeros
	waiting []*waiter       // in the order in which they came
}

type waiter struct {
	owner   Owner
	weight  int64
	granted chan struct{}
}

// take waits until the owner may use a part of the capacity, and returns the function that ends its use.
func (t *turns) take(ctx context.Context, owner Owner, weight int64) (end func(), err error) {
	w := &waiter{owner, weight, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, w)
	t.grant()
	t.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, t.refusal)
	defer cancel()
	select {
	case <-w.granted:
		return func() { t.end(w) }, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, w)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		t.grant() // those that waited behind it
	}
	t.mu.Unlock()
	if i < 0 { // granted just now
		t.end(w)
	}
	return nil, context.Cause(ctx)
}

func (t *turns) end(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all -= w.weight
	if t.used[w.owner] -= w.weight; t.used[w.owner] == 0 {
		delete(t.used, w.owner)
	}
	t.grant()
}

// grant lets those that wait go on, as far as there is capacity. The caller holds mu.
func (t *turns) grant() {
	for {
		w := t.next()
		if w == nil || !t.fits(w) {
			return
		}
		if t.used == nil {
			t.used = map[Owner]int64{}
		}
		t.all += w.weight
		t.used[w.owner] += w.weight
		t.waiting = slices.Delete(t.waiting, slices.Index(t.waiting, w), slices.Index(t.waiting, w)+1)
		close(w.granted)
	}
}

// next returns the first waiter of the owner that uses the least, nil if none may have more.
func (t *turns) next() *waiter {
	var found *waiter
	for _, w := range t.waiting {
		if t.used[w.owner]+w.weight <= t.each && (found == nil || t.used[w.owner] < t.used[found.owner]) {
			found = w
		}
	}
	return found
}

func (t *turns) fits(w *waiter) bool {
	owners := len(t.used)
	if t.used[w.owner] == 0 {
		owners++
	}
	return t.all+w.weight <= t.capacity && (!t.keepsOne || t.all+w.weight < t.capacity || owners > 2)
}
