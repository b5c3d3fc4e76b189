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

// writerLock is the lock on the writing connection. Each owner has a queue of waiters, in the order in which they ask
// for the lock. Owners take turns.
type writerLock struct {
	mu     sync.Mutex
	held   bool
	closed bool
	queues []*queue             // those with waiters; the first one is next
	waits  prometheus.Histogram // how long writers waited
}

// queue has the waiters of an owner.
type queue struct {
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

// acquire returns once the caller holds the lock. The error is that of ctx, ErrBusy after the deadline, errClosed, or
// errRunByHolder if the caller passed a write. If the lock arrives just as the caller gives up, unlock releases it.
func (l *writerLock) acquire(
	ctx context.Context, deadline time.Time, owner string, write *functionWrite, unlock func(),
) error {
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

// abandon removes a waiter and returns the reason. If the holder runs the waiter's write function, abandon
// waits for it instead.
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
		i := l.queueOf(w.owner)
		l.remove(i, slices.Index(l.queues[i].waiters, w))
		l.mu.Unlock()
		l.waits.Observe(time.Since(w.since).Seconds())
	}
	return reason
}

// enqueue puts a waiter at the end of its owner's queue. The caller holds mu, as for all methods up to take.
func (l *writerLock) enqueue(w *waiter) {
	i := l.queueOf(w.owner)
	if i < 0 {
		i = len(l.queues)
		l.queues = append(l.queues, &queue{owner: w.owner})
	}
	l.queues[i].waiters = append(l.queues[i].waiters, w)
}

// queueOf returns the index of the owner's queue, -1 if nobody waits for it.
func (l *writerLock) queueOf(owner string) int {
	return slices.IndexFunc(l.queues, func(q *queue) bool { return q.owner == owner })
}

func (l *writerLock) remove(queue, waiter int) {
	left := slices.Delete(l.queues[queue].waiters, waiter, waiter+1)
	if l.queues[queue].waiters = left; len(left) == 0 {
		l.queues = slices.Delete(l.queues, queue, queue+1)
	}
}

// next returns the first queue whose owner may write in the open batch, -1 if there is none.
func (l *writerLock) next(open *batch) int {
	return slices.IndexFunc(l.queues, func(q *queue) bool {
		return open == nil || open.admits(q.owner, l.othersWait(q.owner))
	})
}

// othersWait reports whether another owner's writers wait.
func (l *writerLock) othersWait(owner string) bool {
	return slices.ContainsFunc(l.queues, func(q *queue) bool { return q.owner != "" && q.owner != owner })
}

// take removes the first waiter of a queue, which then comes last.
func (l *writerLock) take(i int) *waiter {
	q := l.queues[i]
	first := q.waiters[0]
	l.queues = append(slices.Delete(l.queues, i, i+1), q)
	l.remove(len(l.queues)-1, 0)
	return first
}

// takeWrite removes the first waiter that may join the open batch if it has a write function, which the caller then
// has to run. It returns nil otherwise.
func (l *writerLock) takeWrite(open *batch) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.next(open)
	if i < 0 || l.queues[i].waiters[0].write == nil {
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

// release passes the lock to the first waiter, if any, and frees it otherwise. It reports whether the lock was closed
// in the meantime: then the caller keeps it for good.
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

// close refuses all current and later waiters. It reports whether the caller got the lock: if there is a holder, its
// release returns true.
func (l *writerLock) close() (acquired bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	for len(l.queues) > 0 {
		l.take(0).granted <- errClosed
	}
	acquired = !l.held
	l.held = true
	return acquired
}
