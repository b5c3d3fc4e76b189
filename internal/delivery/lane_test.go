package delivery

import (
	"testing"
	"time"
)

// ok, down and slow are outcomes by which lanes change.
var (
	ok        = Outcome{Status: 200}
	refusing  = Outcome{Status: 400}
	down      = Outcome{Failure: FailureNetwork}
	timeout   = Outcome{Failure: FailureTimeout}
	overload  = Outcome{Status: 503}
	throttled = Outcome{Status: 429, RetryAfter: time.Hour}
)

func newLane() *lane { return &lane{limit: firstSlots} }

// at notes an outcome of an attempt that took no time.
func (l *lane) at(now time.Time, outcome Outcome) { l.note(outcome, now, now, 10, 24*time.Hour) }

func TestLaneGrowsWithAnswers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, outcome := range []Outcome{ok, refusing} {
		l := newLane()
		for _, want := range []int{4, 8, 10, 10} {
			l.note(outcome, now, now.Add(time.Second), 10, 0)
			if l.limit != want || l.slots(now).Free != want {
				t.Errorf("the limit is %d and %d are free, want %d", l.limit, l.slots(now).Free, want)
			}
		}
		l.active, l.waiting = 8, make([]*Job, 1)
		if free := l.slots(now).Free; free != 1 {
			t.Errorf("with 9 of 10 held, %d are free", free)
		}
	}
}

func TestLaneClaimsAheadForFastEndpoints(t *testing.T) {
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
		l := &lane{limit: 10}
		l.note(ok, now, now.Add(latency), 10, 0)
		if free := l.slots(now).Free; free != want {
			t.Errorf("with answers after %v, %d are free, want %d", latency, free, want)
		}
	}
}

func TestCircuitOpensWhereAnEndpointFails(t *testing.T) {
	t.Parallel()
	for _, outcome := range []Outcome{down, timeout} {
		l := &lane{limit: 10}
		now := time.Now()
		for _, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			pause *= time.Second
			l.at(now, outcome)
			if got := l.slots(now.Add(pause - 1)); got != (Slots{Urgent: true}) {
				t.Errorf("before %v: got %+v", pause, got)
			}
			now = now.Add(pause)
			if got := l.slots(now); got != (Slots{Free: 1}) {
				t.Errorf("after %v: got %+v, want one probe", pause, got)
			}
			l.active = 1
			if got := l.slots(now); got != (Slots{}) {
				t.Errorf("with the probe in flight: got %+v", got)
			}
			l.active = 0
		}
		l.note(ok, now, now.Add(time.Second), 10, 0)
		if got := l.slots(now); got.Free != 2 {
			t.Errorf("after a success: got %+v", got)
		}
	}
}

func TestLaneCountsAttemptsThatFailTogetherOnce(t *testing.T) {
	t.Parallel()
	l := &lane{limit: 10}
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

func TestLaneSlowsDownWhenAsked(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := &lane{limit: 10}
	l.at(now, overload)
	if l.limit != 5 || l.openFor(now) != time.Second {
		t.Errorf("503: limit %d, open for %v", l.limit, l.openFor(now))
	}
	l = &lane{limit: 10}
	l.at(now, throttled)
	if l.limit != 5 || l.openFor(now) != time.Hour {
		t.Errorf("429 with Retry-After: limit %d, open for %v", l.limit, l.openFor(now))
	}
	l = &lane{limit: 1}
	l.note(throttled, now, now, 10, time.Minute)
	if l.limit != 1 || l.openFor(now) != time.Minute {
		t.Errorf("429 beyond the maximum: limit %d, open for %v", l.limit, l.openFor(now))
	}
}

func TestLaneOutlivesAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := &lane{limit: 10}
	l.at(now, throttled)
	now = now.Add(-2 * time.Hour)
	if got := l.slots(now); got != (Slots{Free: 1}) {
		t.Errorf("got %+v, want one probe", got)
	}
	l.at(now, down)
	if l.failures != 2 || l.openFor(now) != 2*time.Second {
		t.Errorf("a failure of the probe: %d failures, open for %v", l.failures, l.openFor(now))
	}
	now = now.Add(-2 * time.Hour)
	l.at(now, ok)
	if l.failures != 0 || l.slots(now).Free < 2 {
		t.Errorf("a success of the probe: %d failures, %+v", l.failures, l.slots(now))
	}
}

func TestLaneIsForgottenWhenIdle(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later := now.Add(11 * maxOpen)
	for what, c := range map[string]struct {
		lane *lane
		want bool
	}{
		"idle":              {&lane{used: now}, true},
		"in flight":         {&lane{used: now, active: 1}, false},
		"with waiting jobs": {&lane{used: now, waiting: make([]*Job, 1)}, false},
		"open":              {&lane{used: now, failed: now, open: later.Sub(now) + 1}, false},
		"used":              {&lane{used: later}, false},
	} {
		if got := c.lane.idle(later); got != c.want {
			t.Errorf("%s: got %v", what, got)
		}
	}
}
