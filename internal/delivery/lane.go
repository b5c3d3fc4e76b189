package delivery

import (
	"net/http"
	"time"
)

const (
	// firstSlots is how many attempts at a time an endpoint gets of which nothing is known. It doubles with every answer
	// up to the limit, so that endpoints that turn out to be dead take few slots away from others.
	firstSlots = 2

	// aheadTime is for how long an endpoint may keep its slots busy with deliveries claimed ahead, of which each slot gets
	// one at least. Without them an endpoint would wait for the database after each round of its slots.
	aheadTime = 50 * time.Millisecond

	// maxAhead is the most deliveries claimed ahead for each slot. Endpoints that take longer than aheadLatency get none:
	// waiting for the database once more is nothing to them.
	maxAhead     = 9
	aheadLatency = 500 * time.Millisecond

	// The circuit of an endpoint that fails is open for this long, doubled with every failure; then it is half-open, for one
	// attempt as a probe. Both are shorter than what the retry policy waits anyway: the schedule of a single delivery stays as
	// it is.
	firstOpen = time.Second
	maxOpen   = time.Minute
)

// lane is an endpoint's share of the engine: what is in flight there, what waits for a slot, and how it has been doing.
// It is forgotten when it says no more than a new one would.
type lane struct {
	waiting  []*Job        // claimed, in the order in which they are sent
	active   int           // attempts in flight
	limit    int           // how many of them there may be
	latency  time.Duration // of answers, a moving average; 0 until there is one
	failures int           // in a row
	failed   time.Time     // when the last of those was counted
	open     time.Duration // for how long after that the circuit is open
	used     time.Time     // when it last had something to do
}

// slots returns what the lane may claim.
func (l *lane) slots(now time.Time) Slots {
	held := l.active + len(l.waiting)
	switch {
	case l.openFor(now) > 0:
		return Slots{Urgent: held == 0}
	case l.failures > 0:
		return Slots{Free: max(0, 1-held)}
	default:
		return Slots{Free: max(0, l.limit+l.ahead()-held)}
	}
}

// openFor returns for how much longer the circuit is open, so that the lane gets no attempts. What failed in the future was counted before the clock was
// set back, and says nothing about now.
func (l *lane) openFor(now time.Time) time.Duration {
	if now.Before(l.failed) {
		return 0
	}
	return max(0, l.open-now.Sub(l.failed))
}

// ahead returns how many deliveries may wait for the slots.
func (l *lane) ahead() int {
	if l.latency <= 0 || l.latency > aheadLatency {
		return 0
	}
	return l.limit * int(min(maxAhead, 1+aheadTime/l.latency))
}

// note takes in what an attempt came to that began at started. What began before the last failure was counted says
// nothing new: ten attempts that time out together are one failure, and a success among them no recovery.
func (l *lane) note(outcome Outcome, started, now time.Time, most int, maxRetryAfter time.Duration) {
	if l.failures > 0 && started.Before(l.failed) && !now.Before(l.failed) {
		return
	}
	overloaded := outcome.Status == http.StatusTooManyRequests || outcome.Status == http.StatusServiceUnavailable
	switch {
	case outcome.Failure != FailureNone:
		l.limit = 1
		l.fail(now, 0)
	case overloaded:
		l.limit = max(1, l.limit/2)
		l.fail(now, min(outcome.RetryAfter, maxRetryAfter))
	default:
		l.failures, l.open = 0, 0
		l.limit = min(2*l.limit, most)
		took := max(now.Sub(started), time.Microsecond)
		if l.latency == 0 {
			l.latency = took
		}
		l.latency += (took - l.latency) / 8
	}
}

// fail opens the circuit for a while, and for as long as the endpoint asked for.
func (l *lane) fail(now time.Time, asked time.Duration) {
	open := min(maxOpen, firstOpen<<min(l.failures, 10))
	l.failures++
	l.failed = now
	l.latency = 0
	l.open = max(open, asked)
}

// idle tells whether the lane has said nothing new for so long that it can be forgotten.
func (l *lane) idle(now time.Time) bool {
	return l.active == 0 && len(l.waiting) == 0 && l.openFor(now) == 0 && now.Sub(l.used) > 10*maxOpen
}
