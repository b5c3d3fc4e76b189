package sqlite

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// errClosed is what writers get once their pool is closed.
var errClosed = errors.New("the database is closed")

// turns lets writers have the connection one after the other, in the order in which they came.
type turns struct {
	mu      sync.Mutex
	taken   bool
	closed  bool
	waiting list.List // of chan error: nil for a turn, errClosed for never
}

// wait returns once it is the caller's turn, or with an error when ctx ends, the deadline has passed (ErrBusy) or the
// turns are closed. over is called in the caller's stead where the turn came just when it gave up.
func (t *turns) wait(ctx context.Context, deadline time.Time, over func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return errClosed
	}
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	turn := make(chan error, 1)
	place := t.waiting.PushBack(turn)
	t.mu.Unlock()

	patience := time.NewTimer(time.Until(deadline))
	defer patience.Stop()
	var gaveUp error
	select {
	case err := <-turn:
		return err
	case <-ctx.Done():
		gaveUp = ctx.Err()
	case <-patience.C:
		gaveUp = ErrBusy
	}
	t.mu.Lock()
	select {
	case err := <-turn:
		t.mu.Unlock()
		if err == nil {
			over()
		}
	default:
		t.waiting.Remove(place)
		t.mu.Unlock()
	}
	return gaveUp
}

// pass gives the turn to who came first, and reports whether there was anybody.
func (t *turns) pass() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next()
}

// end gives the turn to who came first, or to whoever comes next. It reports whether the turns were closed: then
// there is nobody to come.
func (t *turns) end() (closed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next() {
		return false
	}
	t.taken = t.closed
	return t.closed
}

// next is pass for who holds mu.
func (t *turns) next() bool {
	first := t.waiting.Front()
	if first == nil {
		return false
	}
	t.waiting.Remove(first).(chan error) <- nil
	return true
}

// close refuses whoever waits or comes. It reports whether nobody had a turn; the caller has the last one then, and
// otherwise the one who has it.
func (t *turns) close() (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.closed = true
	for first := t.waiting.Front(); first != nil; first = t.waiting.Front() {
		t.waiting.Remove(first).(chan error) <- errClosed
	}
	last = !t.taken
	t.taken = true
	return last
}
