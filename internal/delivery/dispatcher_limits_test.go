package delivery

import (
	"fmt"
	"testing"
	"time"
)

// A new endpoint gets few attempts at a time, and all of them together no more than the engine may have.
func TestDispatcherKeepsItsLimits(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{MaxInFlight: 7, PerEndpoint: 3})
	for n := range 5 {
		f.add(fmt.Sprint("tenant", n), fmt.Sprint("webhook", n), 6)
	}
	for webhook, n := range f.send() {
		if n > firstSlots {
			t.Errorf("%s gets %d attempts", webhook, n)
		}
	}
	for range 5 {
		f.send()
	}
	if len(f.claims) != 7 || f.inFlight != 7 {
		t.Errorf("%d claims, %d attempts", len(f.claims), f.inFlight)
	}
}

// A tenant takes no more than half of what the others leave.
func TestDispatcherLimitsATenant(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{MaxInFlight: 16})
	for n := range 20 {
		f.add("large", fmt.Sprint("webhook", n), 3)
	}
	for range 10 {
		f.send()
	}
	if n := len(f.claims); n != 8 {
		t.Errorf("the large tenant has %d claims of 16", n)
	}
	f.add("small", "other", 3)
	if n := f.send()["other"]; n != 2 {
		t.Errorf("the small tenant gets %d attempts", n)
	}
}

// Slots are divided over tenants, not over endpoints, and go round.
func TestDispatcherIsFair(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{MaxInFlight: 40})
	for n := range 30 {
		f.add("large", fmt.Sprint("webhook", n), 5)
	}
	for n := range 2 {
		f.add("small", fmt.Sprint("other", n), 5)
	}
	f.options.MaxInFlight = 4
	if started := f.send(); started["other0"]+started["other1"] != 2 || sum(started) != 4 {
		t.Errorf("of 4 attempts the small tenant gets %v", started)
	}

	f = newFleet(t, Options{MaxInFlight: 1, PerEndpoint: 1})
	served := map[string]int{}
	for n := range 7 {
		f.add("tenant", fmt.Sprint("webhook", n), 3)
	}
	for range 21 {
		for webhook := range f.send() {
			served[webhook]++
			f.finish(webhook, Outcome{Status: 200}, nil)
		}
	}
	for webhook, n := range served {
		if n != 3 {
			t.Errorf("%s is served %d times in 3 rounds", webhook, n)
		}
	}
}

// A webhook may limit its rate: attempts are spaced evenly, and none is dropped. Other webhooks do not wait.
func TestDispatcherKeepsTheRate(t *testing.T) {
	t.Parallel()
	for rate, seconds := range map[int]int{1: 9, 5: 6, 50: 3, 1000: 2} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, Options{MaxInFlight: 1_000})
			f.add("tenant", "limited", rate*seconds)
			for _, job := range f.due["limited"] {
				job.Endpoint.MaxPerSecond = rate
			}
			var sent []time.Time
			for began := f.now; len(f.due["limited"]) > 0; {
				left := len(f.due["limited"])
				f.send()
				f.finish("limited", Outcome{Status: 200}, nil)
				for range left - len(f.due["limited"]) {
					sent = append(sent, f.now)
				}
				if f.now.Sub(began) > time.Duration(2*seconds)*time.Second {
					t.Fatalf("%d of %d are sent after %v", len(sent), rate*seconds, f.now.Sub(began))
				}
				f.now = f.now.Add(time.Millisecond)
				if f.wakeAt.After(f.now) {
					f.now = f.wakeAt
				}
			}
			for n, at := range sent {
				if n >= rate && at.Sub(sent[n-rate]) < time.Second-2*rateBurst {
					t.Fatalf("%d attempts start within %v", rate+1, at.Sub(sent[n-rate]))
				}
			}
			if took, want := sent[len(sent)-1].Sub(sent[0]), time.Duration(seconds)*time.Second; took > want {
				t.Errorf("%d attempts take %v, more than %v", len(sent), took, want)
			}
		})
	}
}

// The clock is set back after an attempt of a webhook with a rate: it does not wait until the clock is right again.
func TestRateOutlivesTheClock(t *testing.T) {
	t.Parallel()
	l, now := newLimiter(), time.Now()
	l.takeRate(1, now)
	if l.slots(now, false) != 0 || l.slots(now, true) != 0 || l.wait(now) != time.Second-rateBurst {
		t.Errorf("%d are free, the wait is %v", l.slots(now, false), l.wait(now))
	}
	if back := now.Add(-time.Hour); l.slots(back, false) != 1 || l.wait(back) > 0 {
		t.Errorf("an hour earlier %d are free, the wait is %v", l.slots(back, false), l.wait(back))
	}
	l.takeRate(0, now)
	if l.slots(now, false) != firstSlots {
		t.Errorf("without a rate %d are free", l.slots(now, false))
	}
}
