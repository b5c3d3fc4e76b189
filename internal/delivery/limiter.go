package delivery

import (
	"math"
	"net/http"
	"time"
)

const (
	// firstSlots is how many attempts at a time a new endpoint gets. It doubles with every response up to the limit,
	// so that dead endpoints take few slots from others.
	firstSlots = 2

	// aheadTime is how long an endpoint may keep its slots busy with deliveries claimed ahead, at least one for each
	// slot. Without them, an endpoint would wait for the database after each round of its slots.
	aheadTime = 50 * time.Millisecond

	// maxAhead is the most deliveries claimed ahead for each slot. Endpoints that take longer than aheadLatency get
	// none: to them, waiting for the database makes no difference.
	maxAhead     = 9
	aheadLatency = 500 * time.Millisecond

	// The circuit of a failing endpoint is open for this long, doubled with every failure; then it is half-open for
	// one attempt as a probe. Both are shorter than the delays of the retry policy, so the schedule of a single
	// delivery stays the same.
	firstOpen = time.Second
	maxOpen   = time.Minute

	// rateBurst is how much earlier than evenly spaced an attempt may start if the webhook limits its rate, so that a
	// fetch can claim several deliveries at a high rate.
	rateBurst = 20 * time.Millisecond
)

// limiter is the state of an endpoint: its claims, its latency and its failures. The dispatcher forgets a limiter
// that is like a new one.
type limiter struct {
	queued   []*claim      // claims that wait for a slot, in the order of sending
	active   int           // attempts in flight
	claims   int           // all claims, including those answered and not yet committed
	limit    int           // how many attempts may be in flight
	latency  time.Duration // of responses, a moving average; 0 before the first
	failures int           // in a row
	failed   time.Time     // when the last of those was counted
	open     time.Duration // how long after that the circuit is open
	used     time.Time     // when the limiter last had a claim
	interval time.Duration // between attempts, if the webhook limits their rate
	nextAt   time.Time     // when the next attempt may start at that rate
}

// slots returns how many deliveries may be claimed. An open circuit allows none, except for one redelivery (urgent):
// the caller may know better.
func (l *limiter) slots(now time.Time, urgent bool) int {
	held := l.active + len(l.queued)
	switch {
	case l.openFor(now) > 0:
		if urgent && held == 0 {
			return min(1, l.rateSlots(now))
		}
		return 0
	case l.failures > 0:
		return max(0, min(1-held, l.rateSlots(now)))
	default:
		return max(0, min(l.limit+l.ahead()-held, l.rateSlots(now)))
	}
}

// takeRate counts an attempt of a webhook that allows maxPerSecond, 0 for any number.
func (l *limiter) takeRate(maxPerSecond int, now time.Time) {
	l.interval = 0
	if maxPerSecond > 0 {
		l.interval = time.Second / time.Duration(maxPerSecond)
		l.nextAt = now.Add(l.untilNext(now) + l.interval)
	}
}

// untilNext returns how long after now the next attempt would be evenly spaced. More than a second is from before the
// clock was set back, and does not count.
func (l *limiter) untilNext(now time.Time) time.Duration {
	if until := l.nextAt.Sub(now); l.interval > 0 && until <= time.Second+rateBurst {
		return max(0, until)
	}
	return 0
}

// rateSlots returns how many attempts the rate allows now.
func (l *limiter) rateSlots(now time.Time) int {
	if l.interval == 0 {
		return math.MaxInt
	}
	if early := rateBurst - l.untilNext(now); early >= 0 {
		return 1 + int(early/l.interval)
	}
	return 0
}

// wait returns how long the endpoint gets no attempt, because its circuit is open or because of its rate.
func (l *limiter) wait(now time.Time) time.Duration {
	return max(l.openFor(now), l.untilNext(now)-rateBurst)
}

// openFor returns how much longer the circuit is open. It ignores a failure in the future, which was counted before
// the clock was set back.
func (l *limiter) openFor(now time.Time) time.Duration {
	if now.Before(l.failed) {
		return 0
	}
	return max(0, l.open-now.Sub(l.failed))
}

// ahead returns how many deliveries may wait for slots.
func (l *limiter) ahead() int {
	if l.latency <= 0 || l.latency > aheadLatency {
		return 0
	}
	return l.limit * int(min(maxAhead, 1+aheadTime/l.latency))
}

// note records the outcome of an attempt. It ignores an attempt that began before the last failure was counted: ten
// attempts that time out together are one failure, and a success among them is not a recovery.
func (l *limiter) note(outcome Outcome, started, now time.Time, most int, maxRetryAfter time.Duration) {
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

// fail opens the circuit, at least for as long as the endpoint asked for.
func (l *limiter) fail(now time.Time, asked time.Duration) {
	open := min(maxOpen, firstOpen<<min(l.failures, 10))
	l.failures++
	l.failed = now
	l.latency = 0
	l.open = max(open, asked)
}

// idle reports whether the limiter can be forgotten: it has no claims, and its state is like that of a new one.
func (l *limiter) idle(now time.Time) bool {
	return l.claims == 0 && l.openFor(now) == 0 && now.Sub(l.used) > 10*maxOpen
}
