package delivery

import (
	"time"

	"contactbase/internal/event"
)

// enter puts a job into its endpoint's lane and starts what may be started there. e.mu is held.
func (e *Engine) enter(job *Job, now time.Time) {
	id := job.Endpoint.WebhookID
	l := e.lanes[id]
	if l == nil {
		l = &lane{limit: min(firstSlots, e.options.PerEndpoint)}
		e.lanes[id] = l
	}
	l.used = now
	l.waiting = append(l.waiting, job)
	e.waiting++
	for l.active < l.limit {
		next := e.take(l)
		if next == nil {
			return
		}
		e.workers.Add(1)
		go e.work(l, next)
	}
}

// take starts the next job of the lane, nil where there is none. Jobs that waited for so long that an attempt might
// outlast their claim go back. e.mu is held.
func (e *Engine) take(l *lane) *Job {
	now := e.options.Now()
	for len(l.waiting) > 0 {
		job := l.waiting[0]
		l.waiting = l.waiting[1:]
		e.waiting--
		if now.Add(attemptTimeout).After(job.Lease) {
			e.returned = append(e.returned, job)
			continue
		}
		l.active++
		l.used = now
		e.flights[job] = now
		return job
	}
	return nil
}

// work makes attempts for the lane until nothing waits in it.
func (e *Engine) work(l *lane, job *Job) {
	defer e.workers.Done()
	for job != nil {
		attempt := e.send(e.sending, job)
		job = e.finish(l, job, attempt)
	}
}

// finish takes in an attempt and returns the next job of the lane.
func (e *Engine) finish(l *lane, job *Job, attempt *Attempt) *Job {
	now := e.options.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	started, expected := e.flights[job]
	if !expected {
		return nil // Stop did not wait for it: it is in the queue again
	}
	delete(e.flights, job)
	l.active--
	if e.sending.Err() != nil && attempt.Outcome.Failure != FailureNone {
		e.returned = append(e.returned, job) // interrupted by Stop, not failed
		return nil
	}
	l.note(attempt.Outcome, started, now, e.options.PerEndpoint, e.options.Policy.MaxRetryAfter)
	if l.failures > 0 {
		e.giveBack(l) // what waits would only fail, too
	}
	e.add(Result{Job: job, Attempt: attempt, Decision: e.decide(job, attempt.Outcome, now)}, now)
	if l.active >= l.limit {
		return nil
	}
	next := e.take(l)
	// the limit may have grown
	for next != nil && l.active < l.limit {
		other := e.take(l)
		if other == nil {
			break
		}
		e.workers.Add(1)
		go e.work(l, other)
	}
	return next
}

// add keeps a result for the loop to store. e.mu is held.
func (e *Engine) add(result Result, now time.Time) {
	e.metrics.observe(result, now)
	if len(e.results) == 0 {
		e.since = time.Now()
	}
	e.results = append(e.results, result)
	if n := len(e.results); n == 1 || n >= flushSize || len(e.flights) == 0 && e.waiting == 0 {
		signal(e.arrived)
	}
}

// decide applies the retry policy. A ping is never retried.
func (e *Engine) decide(job *Job, outcome Outcome, now time.Time) Decision {
	policy := e.options.Policy
	if job.EventType == string(event.WebhookPing) {
		policy.Delays = nil
	}
	return policy.Next(job.Attempt, outcome, now, e.options.Random())
}

// giveBack returns what waits in the lane to the queue. e.mu is held.
func (e *Engine) giveBack(l *lane) {
	e.returned = append(e.returned, l.waiting...)
	e.waiting -= len(l.waiting)
	l.waiting = nil
}

// abandon returns what is in flight to the queue. Whatever still comes of it has no effect.
func (e *Engine) abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for job := range e.flights {
		e.returned = append(e.returned, job)
	}
	clear(e.flights)
}
