package delivery

import (
	"testing"
	"time"
)

// ok, down and slow are outcomes by which limiters change.
var (
	ok        = Outcome{Status: 200}
	refusing  = Outcome{Status: 400}
	down      = Outcome{Failure: FailureNetwork}
	timeout   = Outcome{Failure: FailureTimeout}
	overload  = Outcome{Status: 503}
	throttled = Outcome{Status: 429, RetryAfter: time.Hour}
)

func newLimiter() *limiter { return &limiter{limit: firstSlots} }

// at notes an outcome of an attempt that took no time.
func (l *limiter) at(now time.Time, outcome Outcome) { l.note(outcome, now, now, 10, 24*time.Hour) }

func TestLimiterGrowsWithAnswers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, outcome := range []Outcome{ok, refusing} {
		l := newLimiter()
		for _, want := range []int{4, 8, 10, 10} {
			l.note(outcome, now, now.Add(time.Second), 10, 0)
			if l.limit != want || l.slots(now, false) != want {
				t.Errorf("the limit is %d and %d are free, want %d", l.limit, l.slots(now, false), want)
			}
		}
		l.active, l.queued = 8, make([]*claim, 1)
		if free := l.slots(now, false); free != 1 {
			t.Errorf("with 9 of 10 held, %d are free", free)
		}
	}
}

func TestLimiterClaimsAheadForFastEndpoints(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for latency, want := range map[time.Duration]int{
		time.Microsecond:       100,
		time.Millisecond:       100,
		10 * time.Millisecond:  70,
		50 * time.Millisecond:  30,
		100 * time.Millisecond: 20,
		500 * time.Millisecond: 20,
		501 * time.Millisecond: 10,
		10 * time.Second:       10,
	} {
		l := &limiter{limit: 10}
		l.note(ok, now, now.Add(latency), 10, 0)
		if free := l.slots(now, false); free != want {
			t.Errorf("with answers after %v, %d are free, want %d", latency, free, want)
		}
	}
}

func TestCircuitOpensWhereAnEndpointFails(t *testing.T) {
	t.Parallel()
	for _, outcome := range []Outcome{down, timeout} {
		l := &limiter{limit: 10}
		now := time.Now()
		for _, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			pause *= time.Second
			l.at(now, outcome)
			if free, urgent := l.slots(now.Add(pause-1), false), l.slots(now.Add(pause-1), true); free != 0 || urgent != 1 {
				t.Errorf("before %v: got %d, and %d if asked for", pause, free, urgent)
			}
			now = now.Add(pause)
			if got := l.slots(now, false); got != 1 {
				t.Errorf("after %v: got %d, want one probe", pause, got)
			}
			l.active = 1
			if got := l.slots(now, true); got != 0 {
				t.Errorf("with the probe in flight: got %d", got)
			}
			l.active = 0
		}
		l.note(ok, now, now.Add(time.Second), 10, 0)
		if got := l.slots(now, false); got != 2 {
			t.Errorf("after a success: got %d", got)
		}
	}
}

func TestLimiterCountsAttemptsThatFailTogetherOnce(t *testing.T) {
	t.Parallel()
	l := &limiter{limit: 10}
	started := time.Now()
	ended := started.Add(15 * time.Second)
	for range 10 {
		l.note(timeout, started, ended, 10, 0)
	}
	if l.failures != 1 || l.openFor(ended) != time.Second {
		t.Errorf("%d failures, open for %v", l.failures, l.openFor(ended))
	}
	l.note(ok, started, ended, 10, 0)
	if l.failures != 1 {
		t.Error("a success from before the failure ended the pause")
	}
	l.note(ok, ended, ended.Add(time.Second), 10, 0)
	if l.failures != 0 || l.openFor(ended) != 0 {
		t.Error("a success after the failure did not end the pause")
	}
}

func TestLimiterSlowsDownWhenAsked(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := &limiter{limit: 10}
	l.at(now, overload)
	if l.limit != 5 || l.openFor(now) != time.Second {
		t.Errorf("503: limit %d, open for %v", l.limit, l.openFor(now))
	}
	l = &limiter{limit: 10}
	l.at(now, throttled)
	if l.limit != 5 || l.openFor(now) != time.Hour {
		t.Errorf("429 with Retry-After: limit %d, open for %v", l.limit, l.openFor(now))
	}
	l = &limiter{limit: 1}
	l.note(throttled, now, now, 10, time.Minute)
	if l.limit != 1 || l.openFor(now) != time.Minute {
		t.Errorf("429 beyond the maximum: limit %d, open for %v", l.limit, l.openFor(now))
	}
}

func TestLimiterOutlivesAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := &limiter{limit: 10}
	l.at(now, throttled)
	now = now.Add(-2 * time.Hour)
	if got := l.slots(now, false); got != 1 {
		t.Errorf("got %d, want one probe", got)
	}
	l.at(now, down)
	if l.failures != 2 || l.openFor(now) != 2*time.Second {
		t.Errorf("a failure of the probe: %d failures, open for %v", l.failures, l.openFor(now))
	}
	now = now.Add(-2 * time.Hour)
	l.at(now, ok)
	if l.failures != 0 || l.slots(now, false) < 2 {
		t.Errorf("a success of the probe: %d failures, %d free", l.failures, l.slots(now, false))
	}
}

func TestLimiterIsForgottenWhenIdle(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later := now.Add(11 * maxOpen)
	for what, c := range map[string]struct {
		limiter *limiter
		want    bool
	}{
		"idle":      {&limiter{used: now}, true},
		"in flight": {&limiter{used: now, claims: 1}, false},
		"open":      {&limiter{used: now, failed: now, open: later.Sub(now) + 1}, false},
		"used":      {&limiter{used: later}, false},
	} {
		if got := c.limiter.idle(later); got != c.want {
			t.Errorf("%s: got %v", what, got)
		}
	}
}
