package delivery

import (
	"context"
	"time"
)

// SetTimeout shortens the time of an attempt.
func (s *Sender) SetTimeout(timeout time.Duration) { s.timeout = timeout }

// SetSend takes the place of the engine's sender.
func (e *Engine) SetSend(send func(context.Context, *Job) *Attempt) { e.send = send }

// RunOnce fans out all events, attempts what is due, and commits the results, one after the other. It returns how many
// attempts were made. It must not be called while the engine runs.
func (e *Engine) RunOnce(ctx context.Context) (int, error) {
	if e.clockWentBack() {
		if err := e.queue.Reschedule(ctx, e.options.Now()); err != nil {
			return 0, err
		}
	}
	for more := true; more; {
		out, err := e.queue.FanOut(ctx, e.options.Now())
		if err != nil {
			return 0, err
		}
		more = out.More
	}
	d := e.dispatcher
	agenda, err := e.queue.Poll(ctx)
	if err != nil {
		return 0, err
	}
	d.polled(e.instant(), agenda, 0, nil)
	if fetch, some := d.fetch(e.options.Now()); some {
		due, err := e.fetch(ctx, fetch)
		if err != nil {
			return 0, err
		}
		e.attempt(d.fetched(e.instant(), due, 0, nil))
	}
	for d.inFlight > 0 {
		e.replied(<-e.replies)
	}
	commit := d.commit(e.options.Now())
	ready, err := e.queue.Commit(ctx, commit)
	d.committed(e.instant(), ready, err)
	return len(commit.Results), err
}

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

// Step performs the next operation, if there is one, by the queue. before and after it they may fail: the operation is
// then not carried out, or carried out and reported as failed. Step returns what to attempt, what was committed and
// will not be again, and whether there was an operation.
func (d *Dispatcher) Step(ctx context.Context, queue Queue, before, after error) (start []*Job, committed Commit, some bool) {
	operation, _ := d.next(d.instant())
	if operation == nil {
		return nil, committed, false
	}
	err := before
	switch operation := operation.(type) {
	case Fetch:
		var due []*Job
		if err == nil {
			due, err = queue.Fetch(ctx, operation)
		}
		start = d.fetched(d.instant(), due, 0, either(err, after))
	case Commit:
		var ready []Ready
		if err == nil {
			if ready, err = queue.Commit(ctx, operation); err == nil {
				committed = operation
			}
			if after != nil {
				committed.Results = nil // it will be repeated
			}
		}
		d.committed(d.instant(), ready, either(err, after))
	case poll:
		var agenda Agenda
		if err == nil {
			agenda, err = queue.Poll(ctx)
		}
		d.polled(d.instant(), agenda, 0, either(err, after))
	default:
		var out FannedOut
		if err == nil {
			out, err = queue.FanOut(ctx, d.Now)
		}
		d.fannedOut(d.instant(), out, 0, either(err, after))
	}
	return start, committed, true
}

func either(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
