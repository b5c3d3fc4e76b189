package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// errClosed is the error of writers whose pool is closed.
var errClosed = errors.New("the database is closed")

// errRunByHolder tells a waiter that the holder of the lock has run its write function.
var errRunByHolder = errors.New("the holder of the writer lock ran the write function")

// writerLock is the lock on the writing connection. Its waiters stand in a line for each owner, in the order in which they ask for the lock.
// The lines take turns.
type writerLock struct {
	mu     sync.Mutex
	held   bool
	closed bool
	lines  []*line              // those with waiters; the turn is the first one's
	waits  prometheus.Histogram // how long writers waited
}

// line is the waiters of an owner.
type line struct {
	owner   string
	waiters []*waiter // never empty
}

// waiter is a writer that waits for the lock.
type waiter struct {
	owner   string // on whose behalf it writes; "" for the program itself
	since   time.Time
	granted chan error     // receives nil with the lock, errRunByHolder or errClosed without it
	write   *functionWrite // what the holder may run for the waiter, nil if the waiter has to write itself
	running bool           // whether the holder runs it
}

// acquire returns once the caller holds the lock. The error is that of ctx, ErrBusy after the deadline, errClosed, or errRunByHolder
// if the caller passed a write. If the lock arrives just as the caller gives up, unlock releases it.
func (l *writerLock) acquire(ctx context.Context, deadline time.Time, owner string, write *functionWrite, unlock func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return errClosed
	}
	if !l.held {
		l.held = true
		l.mu.Unlock()
		l.waits.Observe(0)
		return nil
	}
	w := &waiter{owner: owner, since: time.Now(), granted: make(chan error, 1), write: write}
	l.enqueue(w)
	l.mu.Unlock()

	timeout := time.NewTimer(time.Until(deadline))
	defer timeout.Stop()
	select {
	case err := <-w.granted:
		if err == nil {
			l.waits.Observe(time.Since(w.since).Seconds())
		}
		return err
	case <-ctx.Done():
		return l.abandon(w, ctx.Err(), unlock)
	case <-timeout.C:
		return l.abandon(w, ErrBusy, unlock)
	}
}

// abandon removes a waiter and returns the reason. If the holder runs the waiter's write function, abandon waits for it instead.
func (l *writerLock) abandon(w *waiter, reason error, unlock func()) error {
	l.mu.Lock()
	if w.running {
		l.mu.Unlock()
		return <-w.granted
	}
	select {
	case err := <-w.granted:
		l.mu.Unlock()
		if err == nil {
			unlock()
		}
	default:
		i := l.lineOf(w.owner)
		l.remove(i, slices.Index(l.lines[i].waiters, w))
		l.mu.Unlock()
		l.waits.Observe(time.Since(w.since).Seconds())
	}
	return reason
}

// enqueue puts a waiter at the end of its owner's line. The caller holds mu, as for all methods up to take.
func (l *writerLock) enqueue(w *waiter) {
	i := l.lineOf(w.owner)
	if i < 0 {
		i = len(l.lines)
		l.lines = append(l.lines, &line{owner: w.owner})
	}
	l.lines[i].waiters = append(l.lines[i].waiters, w)
}

// lineOf returns the index of the owner's line, -1 if nobody waits for it.
func (l *writerLock) lineOf(owner string) int {
	return slices.IndexFunc(l.lines, func(line *line) bool { return line.owner == owner })
}

func (l *writerLock) remove(line, waiter int) {
	left := slices.Delete(l.lines[line].waiters, waiter, waiter+1)
	if l.lines[line].waiters = left; len(left) == 0 {
		l.lines = slices.Delete(l.lines, line, line+1)
	}
}

// next returns the first line whose owner may write in the open batch, -1 if there is none.
func (l *writerLock) next(open *batch) int {
	return slices.IndexFunc(l.lines, func(line *line) bool { return open == nil || open.admits(line.owner, l.othersWait(line.owner)) })
}

// othersWait reports whether another owner's writers wait.
func (l *writerLock) othersWait(owner string) bool {
	return slices.ContainsFunc(l.lines, func(line *line) bool { return line.owner != "" && line.owner != owner })
}

// take removes the first waiter of a line, which then waits for its turn behind the others.
func (l *writerLock) take(i int) *waiter {
	line := l.lines[i]
	first := line.waiters[0]
	l.lines = append(slices.Delete(l.lines, i, i+1), line)
	l.remove(len(l.lines)-1, 0)
	return first
}

// takeWrite removes the first waiter that may join the open batch if it has a write function, which the caller then has to run. It returns
// nil otherwise.
func (l *writerLock) takeWrite(open *batch) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.next(open)
	if i < 0 || l.lines[i].waiters[0].write == nil {
		return nil
	}
	next := l.take(i)
	next.running = true
	l.waits.Observe(time.Since(next.since).Seconds())
	return next
}

// handOver passes the lock to the first waiter that may join the open batch, and reports whether there is one.
func (l *writerLock) handOver(open *batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant(open)
}

// release passes the lock to the first waiter, if any, and frees it otherwise. It reports whether the lock was closed in the
// meantime: then the caller keeps it for good.
func (l *writerLock) release() (closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grant(nil) {
		return false
	}
	l.held = l.closed
	return l.closed
}

// grant gives the lock to the first waiter that may join the open batch, which is nil for none. The caller holds mu.
func (l *writerLock) grant(open *batch) bool {
	i := l.next(open)
	if i < 0 {
		return false
	}
	l.take(i).granted <- nil
	return true
}

// close refuses all current and later waiters. It reports whether the caller got the lock: if there is a holder, its release returns true.
func (l *writerLock) close() (acquired bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	for len(l.lines) > 0 {
		l.take(0).granted <- errClosed
	}
	acquired = !l.held
	l.held = true
	return acquired
}
