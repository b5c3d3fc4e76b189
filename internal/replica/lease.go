package replica

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"contactbase/internal/loop"
	"contactbase/internal/replica/store"
)

// lease is the right to serve for a limited time, which the holder renews in the store. It starts held, and is never
// regained once lost.
type lease struct {
	replica *Replica
	ttl     time.Duration
	until   atomic.Int64  // on the clock, in nanoseconds
	lost    chan struct{} // closed once the lease is lost
	cancel  context.CancelFunc
	ended   chan struct{} // closed once nothing renews the lease any more

	mu     sync.Mutex // held during a request that writes the record
	record lockRecord
	tag    string // of the record in the store
}

// newLease returns the lease of a record that is in the store. The time sent is when the request that
// wrote it was sent.
func newLease(r *Replica, record lockRecord, tag string, sent time.Duration) *lease {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lease{
		replica: r, ttl: r.config.Lease, record: record, tag: tag,
		lost: make(chan struct{}), cancel: cancel, ended: make(chan struct{}),
	}
	l.extend(sent)
	go l.keep(ctx)
	return l
}

// extend counts the lease from before the request that renewed it. It gives up a fifth, because clocks may run at
// different speeds: a standby waits for the whole lease from when it sees the renewal.
func (l *lease) extend(sent time.Duration) { l.until.Store(int64(sent + l.ttl - l.ttl/5)) }

// held reports whether no other machine can have the lease.
func (l *lease) held() bool { return int64(clock()) < l.until.Load() }

// keep renews the lease until ctx ends or the lease is lost.
func (l *lease) keep(ctx context.Context) {
	defer close(l.ended)
	for {
		if !loop.Pause(ctx, min(l.ttl/4, time.Duration(l.until.Load())-clock())) {
			return
		}
		err := l.renew(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, ErrFenced) || !l.held() {
			l.until.Store(0)
			l.replica.progress.enter(Fenced, err)
			close(l.lost)
			return
		}
		if err != nil {
			l.replica.progress.setError(err)
		}
	}
}

// whileHeld returns a context that ends with ctx, or with the cause ErrFenced once the lease is lost.
func (l *lease) whileHeld(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-l.lost:
			cancel(ErrFenced)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// renew writes the record again, with the replicated position.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.ttl/4)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.updatePosition()
	sent, err := l.rewrite(ctx)
	if err != nil {
		return err
	}
	l.extend(sent)
	return nil
}

// updatePosition sets the record's position. The first upload contains the commits that the store lacked when this
// machine began, so none are missing any longer. The caller holds mu.
func (l *lease) updatePosition() {
	if l.record.Position = l.replica.written.position.Load(); l.record.Position > 0 {
		l.record.Unshipped = 0
	}
}

// rewrite replaces the record in the store, and returns when the request was sent. An earlier request without a
// response may have succeeded: then the tag has changed, and the record still names this holder. The caller holds mu.
func (l *lease) rewrite(ctx context.Context) (sent time.Duration, err error) {
	sent = clock()
	tag, err := l.replica.writeLock(ctx, l.record, l.tag)
	if errors.Is(err, store.ErrChanged) {
		found, foundTag, readErr := l.replica.readLock(ctx)
		if readErr != nil {
			return 0, readErr
		}
		if found.Generation != l.record.Generation || found.Folder != l.record.Folder {
			return 0, ErrFenced
		}
		sent = clock()
		tag, err = l.replica.writeLock(ctx, l.record, foundTag)
	}
	if err != nil {
		return 0, err
	}
	l.tag = tag
	return sent, nil
}

// release gives the lease up, so that a standby takes over at once, unless the store lacks acknowledged commits.
func (l *lease) release(ctx context.Context, unshipped uint64) error {
	l.cancel() // a renewal that this interrupts may have succeeded
	<-l.ended
	if !l.held() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until.Store(0)
	l.updatePosition()
	l.record.Released = true
	l.record.Unshipped += unshipped
	_, err := l.rewrite(ctx)
	return err
}
