// Package loop runs recurring work in the background.
package loop

import (
	"context"
	"time"
)

// Loop calls a function when it starts, after each Wake, and at an interval. Use New to make one.
type Loop struct {
	interval time.Duration
	work     func(context.Context)
	wake     chan struct{}
	cancel   context.CancelFunc
	done     chan struct{}
}

// New returns a loop that does nothing before Start. Stop ends the context of work.
func New(interval time.Duration, work func(context.Context)) *Loop {
	return &Loop{interval: interval, work: work, wake: make(chan struct{}, 1)}
}

// Wake makes the loop call its function soon, once more if the function is running. It never blocks.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Start starts the loop.
func (l *Loop) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.done = cancel, make(chan struct{})
	go func() {
		defer close(l.done)
		ticker := time.NewTicker(l.interval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			l.work(ctx)
			select {
			case <-ctx.Done():
			case <-l.wake:
			case <-ticker.C:
			}
		}
	}()
}

// Stop ends the loop, and waits for a running call. It reports whether the loop had been started.
func (l *Loop) Stop() bool {
	if l.cancel == nil {
		return false
	}
	l.cancel()
	<-l.done
	return true
}

// Pause waits, and reports whether ctx has not ended meanwhile.
func Pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}
