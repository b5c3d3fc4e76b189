package sqlite

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// errClosed is the error of writers whose pool is closed.
var errClosed = errors.New("the database is closed")

// errRunByHolder tells a waiter that the holder of the lock has run its write function.
var errRunByHolder = errors.New("the holder of the writer lock ran the write function")

// writerLock is the lock on the writing connection. Writers get it in the order in which they ask for it.
type writerLock struct {
	mu      sync.Mutex
	held    bool
	closed  bool
	waiters list.List            // of *waiter
	waits   prometheus.Histogram // how long writers waited
}

// waiter is a writer that waits for the lock.
type waiter struct {
	since   time.Time
	granted chan error     // receives nil with the lock, errRunByHolder or errClosed without it
	write   *functionWrite // what the holder may run for the waiter, nil if the waiter has to write itself
	running bool           // whether the holder runs it
}

// acquire returns once the caller holds the lock. The error is that of ctx, ErrBusy after the deadline, errClosed, or errRunByHolder
// if the caller passed a write. If the lock arrives just as the caller gives up, unlock releases it.
func (l *writerLock) acquire(ctx context.Context, deadline time.Time, write *functionWrite, unlock func()) error {
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
	w := &waiter{since: time.Now(), granted: make(chan error, 1), write: write}
	element := l.waiters.PushBack(w)
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
		return l.abandon(element, ctx.Err(), unlock)
	case <-timeout.C:
		return l.abandon(element, ErrBusy, unlock)
	}
}

// abandon removes a waiter and returns the reason. If the holder runs the waiter's write function, abandon waits for it instead.
func (l *writerLock) abandon(element *list.Element, reason error, unlock func()) error {
	w := element.Value.(*waiter)
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
		l.waiters.Remove(element)
		l.mu.Unlock()
		l.waits.Observe(time.Since(w.since).Seconds())
	}
	return reason
}

// takeWrite removes the first waiter if it has a write function, which the caller then has to run. It returns nil otherwise.
func (l *writerLock) takeWrite() *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.waiters.Front()
	if first == nil || first.Value.(*waiter).write == nil {
		return nil
	}
	next := l.waiters.Remove(first).(*waiter)
	next.running = true
	l.waits.Observe(time.Since(next.since).Seconds())
	return next
}

// handOver passes the lock to the first waiter, and reports whether there is one.
func (l *writerLock) handOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant()
}

// release passes the lock to the first waiter, if any, and frees it otherwise. It reports whether the lock was closed in the
// meantime: then the caller keeps it for good.
func (l *writerLock) release() (closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grant() {
		return false
	}
	l.held = l.closed
	return l.closed
}

// grant gives the lock to the first waiter. The caller holds mu.
func (l *writerLock) grant() bool {
	first := l.waiters.Front()
	if first == nil {
		return false
	}
	l.waiters.Remove(first).(*waiter).granted <- nil
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
	for first := l.waiters.Front(); first != nil; first = l.waiters.Front() {
		l.waiters.Remove(first).(*waiter).granted <- errClosed
	}
	acquired = !l.held
	l.held = true
	return acquired
}
