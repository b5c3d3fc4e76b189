package delivery

import (
	"context"
	"time"
)

// SetTimeout shortens the time of an attempt.
func (s *Sender) SetTimeout(timeout time.Duration) { s.timeout = timeout }

// SetSend takes the place of the engine's sender.
func (e *Engine) SetSend(send func(context.Context, *Job) *Attempt) { e.send = send }

// Dispatcher is a dispatcher with a clock that only the test moves.
type Dispatcher struct {
	*dispatcher
	start, Now time.Time
}

// NewDispatcher returns a dispatcher.
func NewDispatcher(options Options, now time.Time) *Dispatcher {
	return &Dispatcher{newDispatcher(options), now, now}
}

func (d *Dispatcher) instant() instant { return instant{d.Now, d.Now.Sub(d.start)} }

// Wake has the dispatcher look for work.
func (d *Dispatcher) Wake() { d.wake() }

// Answered takes in an attempt, and returns its result and what to attempt.
func (d *Dispatcher) Answered(job *Job, attempt *Attempt) (Result, []*Job) {
	return d.answered(d.instant(), job, attempt)
}

// Step performs the next operation, if there is one, by the store. before and after it they may fail: the operation is then not carried
// out, or carried out and reported as failed. Step returns what to attempt, what was committed and will not be again, and whether there
// was an operation.
func (d *Dispatcher) Step(ctx context.Context, store Queue, before, after error) (start []*Job, committed Commit, some bool) {
	operation, _ := d.next(d.instant())
	if operation == nil {
		return nil, committed, false
	}
	err := before
	switch operation := operation.(type) {
	case Fetch:
		var batch Batch
		if err == nil {
			batch, err = store.Fetch(ctx, operation)
		}
		start = d.fetched(d.instant(), batch, 0, either(err, after))
	case Commit:
		var out FannedOut
		if err == nil {
			if out, err = store.Commit(ctx, operation); err == nil {
				committed = operation
			}
			if after != nil {
				committed.Results = nil // it will be repeated
			}
		}
		start = d.committed(d.instant(), out, either(err, after))
	case poll:
		var agenda Agenda
		if err == nil {
			agenda, err = store.Poll(ctx)
		}
		start = d.polled(d.instant(), agenda, 0, either(err, after))
	default:
		var out FannedOut
		if err == nil {
			out, err = store.FanOutOld(ctx, d.Now, fanOutAge)
		}
		start = d.fannedOut(d.instant(), out, either(err, after))
	}
	return start, committed, true
}

func either(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
