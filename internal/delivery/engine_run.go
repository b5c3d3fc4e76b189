package delivery

import (
	"context"
	"fmt"
	"time"

	"contactbase/internal/loop"
)

// completion tells the dispatcher what an operation returned.
type completion func(t instant)

// run sends until Stop is called and then ends what is in flight. It returns the error of the last commit.
func (e *Engine) run() error {
	ctx, cancel := context.WithCancel(context.Background()) // of all but attempts and commits
	d, replies := e.dispatcher, e.replies
	completed, busy := make(chan completion, 1), false // of the operation under way
	repairClock, stopRepairs := e.repairClock(ctx)
	defer stopRepairs()
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var deadline <-chan struct{} // of a stop
	for {
		if e.clockWentBack() {
			repairClock()
		}
		wait := tickInterval
		if !busy {
			e.beat(nil)
			var operation any
			if operation, wait = d.next(e.instant()); operation != nil {
				busy = true
				go func() { completed <- e.perform(ctx, operation) }()
			} else if d.stopped(replies != nil) {
				return d.failure
			}
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-e.wake:
			d.wake()
		case r := <-replies:
			e.replied(r)
		case complete := <-completed:
			busy = false
			complete(e.instant())
		case stop := <-e.stop:
			cancel()
			d.stop()
			deadline = stop.Done()
		case <-deadline:
			deadline, replies = nil, nil // attempts that are in flight are interrupted, not failed
			e.stopSending()
		}
	}
}

// perform calls the queue, and logs its errors.
func (e *Engine) perform(ctx context.Context, operation any) completion {
	switch operation := operation.(type) {
	case Fetch:
		began := time.Now()
		due, err := e.fetch(ctx, operation)
		took := time.Since(began)
		e.logError(ctx, "fetching deliveries", err)
		return func(t instant) { e.attempt(e.dispatcher.fetched(t, due, took, err)) }
	case Commit:
		ready, err := e.queue.Commit(context.WithoutCancel(ctx), operation)
		e.logError(context.WithoutCancel(ctx), "committing the results of deliveries", err)
		return func(t instant) { e.dispatcher.committed(t, ready, err) }
	case poll:
		began := time.Now()
		agenda, err := e.queue.Poll(ctx)
		took := time.Since(began)
		e.logError(ctx, "looking for due deliveries", err)
		return func(t instant) { e.dispatcher.polled(t, agenda, took, err) }
	case fanOut:
		began := time.Now()
		out, err := e.queue.FanOut(ctx, e.options.Now())
		took := time.Since(began)
		e.logError(ctx, "fanning out events", err)
		return func(t instant) { e.dispatcher.fannedOut(t, out, took, err) }
	default:
		panic(fmt.Sprintf("the dispatcher asks for %T", operation))
	}
}

// logError logs an error, unless ctx ended.
func (e *Engine) logError(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil {
		e.app.Logger().Error(doing, "error", err)
	}
}

// repairClock returns a function that makes a goroutine reschedule deliveries after the clock was set back, once at a
// time. That takes long if many are pending, so it runs concurrently. stop waits until the goroutine has ended, which
// is soon after the end of ctx.
func (e *Engine) repairClock(ctx context.Context) (repair, stop func()) {
	wanted, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for range wanted {
			e.reschedule(ctx)
			e.Wake()
		}
	}()
	repair = func() {
		select {
		case wanted <- struct{}{}:
		default: // the next one has not begun
		}
	}
	return repair, func() {
		close(wanted)
		<-ended
	}
}

// reschedule reschedules pending deliveries, and retries until ctx ends.
func (e *Engine) reschedule(ctx context.Context) {
	for ctx.Err() == nil {
		err := e.queue.Reschedule(ctx, e.options.Now())
		if err == nil {
			return
		}
		e.logError(ctx, "rescheduling pending deliveries", err)
		loop.Pause(ctx, errorPause)
	}
}
