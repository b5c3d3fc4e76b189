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

// errServed is what who came with a plan gets when that is over, without ever having had the turn.
var errServed = errors.New("the plan was run by somebody else")

// turns lets writers have the connection one after the other, in the order in which they came.
type turns struct {
	mu      sync.Mutex
	taken   bool
	closed  bool
	waiting list.List // of *place
	waits   lengths
}

// place is a place in the line.
type place struct {
	came  time.Time
	turn  chan error // gets nil for a turn, errServed and errClosed for none
	plan  *plan      // what is to be done, where somebody else may do it; otherwise nil
	taken bool       // whether somebody else does it
}

// wait returns once it is the caller's turn, or with an error when ctx ends, the deadline has passed (ErrBusy) or the
// turns are closed. Where the caller has a plan it may also be errServed. over is called in the caller's stead where the turn
// came just when it gave up.
func (t *turns) wait(ctx context.Context, deadline time.Time, plan *plan, over func()) error {
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
		t.waits.add(0)
		return nil
	}
	mine := &place{came: time.Now(), turn: make(chan error, 1), plan: plan}
	element := t.waiting.PushBack(mine)
	t.mu.Unlock()

	patience := time.NewTimer(time.Until(deadline))
	defer patience.Stop()
	select {
	case err := <-mine.turn:
		if err == nil {
			t.waits.add(time.Since(mine.came))
		}
		return err
	case <-ctx.Done():
		return t.giveUp(element, ctx.Err(), over)
	case <-patience.C:
		return t.giveUp(element, ErrBusy, over)
	}
}

// giveUp takes somebody out of the line and returns the reason, unless the plan is being run: then that ends first.
func (t *turns) giveUp(element *list.Element, reason error, over func()) error {
	mine := element.Value.(*place)
	t.mu.Lock()
	if mine.taken {
		t.mu.Unlock()
		return <-mine.turn
	}
	select {
	case err := <-mine.turn:
		t.mu.Unlock()
		if err == nil {
			over()
		}
	default:
		t.waiting.Remove(element)
		t.mu.Unlock()
		t.waits.add(time.Since(mine.came))
	}
	return reason
}

// nextPlan takes who came first out of the line if that is a plan, for the caller to run. It returns nil otherwise.
func (t *turns) nextPlan() *place {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.waiting.Front()
	if first == nil || first.Value.(*place).plan == nil {
		return nil
	}
	next := t.waiting.Remove(first).(*place)
	next.taken = true
	t.waits.add(time.Since(next.came))
	return next
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
	t.waiting.Remove(first).(*place).turn <- nil
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
		t.waiting.Remove(first).(*place).turn <- errClosed
	}
	last = !t.taken
	t.taken = true
	return last
}
