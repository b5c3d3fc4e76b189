package replica

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"contactbase/internal/replica/store"
)

// lease is the right to serve, for as long as the store keeps hearing of its holder.
type lease struct {
	replica *Replica
	ttl     time.Duration
	until   atomic.Int64  // by clock, in nanoseconds
	lost    chan struct{} // closed once it is
	cancel  context.CancelFunc
	ended   chan struct{} // closed once nobody renews any more

	mu     sync.Mutex // held by the one that renews
	record lockRecord
	tag    string // of the record in the store
}

// newLease returns the lease of a record that was written to the store by a request that was sent at that time.
func newLease(r *Replica, written lockRecord, tag string, sent time.Duration) *lease {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lease{replica: r, ttl: r.config.Lease, record: written, tag: tag, lost: make(chan struct{}), cancel: cancel, ended: make(chan struct{})}
	l.extend(sent)
	go l.keep(ctx)
	return l
}

// extend counts the lease from before the request that renewed it. The fifth that it leaves out is for clocks that do not run
// alike: a standby waits for all of it from when it sees the renewal.
func (l *lease) extend(sent time.Duration) { l.until.Store(int64(sent + l.ttl - l.ttl/5)) }

// held tells whether no other machine can have the lease.
func (l *lease) held() bool { return int64(clock()) < l.until.Load() }

// keep renews the lease until ctx ends or it is lost.
func (l *lease) keep(ctx context.Context) {
	defer close(l.ended)
	for {
		wait := min(l.ttl/4, time.Duration(l.until.Load())-clock())
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		err := l.renew(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.replica.note(err)
		}
		if errors.Is(err, ErrFenced) || !l.held() {
			l.until.Store(0)
			l.replica.set(Fenced, err)
			close(l.lost)
			return
		}
	}
}

// while returns a context that ends with ctx, or with ErrFenced once the lease is lost.
func (l *lease) while(ctx context.Context) (context.Context, context.CancelFunc) {
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

// renew writes the record again, with what the store has by now.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.ttl/4)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	sent, err := l.rewrite(ctx)
	if err != nil {
		return err
	}
	l.extend(sent)
	return nil
}

// rewrite replaces the record in the store, and returns when it was sent. A request before that got no answer may have been heard, so that
// the record there is another one than it was, and still ours. The caller holds mu.
func (l *lease) rewrite(ctx context.Context) (sent time.Duration, err error) {
	l.record.Position = l.replica.position.Load()
	sent = clock()
	tag, err := l.replica.writeLock(ctx, l.record, l.tag)
	if errors.Is(err, store.ErrChanged) {
		found, present, readErr := l.replica.readLock(ctx)
		if readErr != nil {
			return 0, readErr
		}
		if found.Generation != l.record.Generation || found.Folder != l.record.Folder {
			return 0, ErrFenced
		}
		sent = clock()
		tag, err = l.replica.writeLock(ctx, l.record, present)
	}
	if err != nil {
		return 0, err
	}
	l.tag = tag
	return sent, nil
}

// release lets a standby take over at once, unless the store lacks commits that were answered. The renewal that it cuts short may have
// been heard.
func (l *lease) release(ctx context.Context, unshipped uint64) error {
	l.cancel()
	<-l.ended
	if !l.held() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until.Store(0)
	l.record.Released, l.record.Unshipped = true, unshipped
	_, err := l.rewrite(ctx)
	return err
}
