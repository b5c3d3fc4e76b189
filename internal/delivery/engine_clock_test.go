package delivery_test

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// TestEngineOutlivesItsClock plays a clock that is set while two events of a contact are on their way to an
// endpoint that fails twice. With a clock that is right the first is retried after 5 s and 65 s, and the second
// waits for a minute.
func TestEngineOutlivesItsClock(t *testing.T) {
	t.Parallel()
	const back, ahead = -time.Hour, 24 * time.Hour
	for _, c := range []struct {
		what  string
		jumps map[int]time.Duration // by the second in which the clock is set; 0 is during the first attempt
		by    int                   // the second by which all has to be delivered
	}{
		{"right", nil, 65},
		{"back an hour", map[int]time.Duration{10: back}, 75},
		{"back an hour with the second attempt due", map[int]time.Duration{5: back}, 75},
		{"back an hour during an attempt", map[int]time.Duration{0: back}, 75},
		{"back a few seconds", map[int]time.Duration{10: -4 * time.Second}, 70},
		{"ahead a day", map[int]time.Duration{10: ahead}, 65},
		{"ahead a day and back", map[int]time.Duration{10: ahead, 20: -ahead}, 85},
		{"ahead a day during an attempt and back", map[int]time.Duration{0: ahead, 10: -ahead}, 80},
		{"back and ahead", map[int]time.Duration{10: back, 20: -back}, 65},
		{"back and forth", map[int]time.Duration{0: back, 5: ahead, 10: back, 15: -ahead, 20: back, 25: ahead, 30: -ahead, 35: -back}, 105},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			tenant := testkit.Tenant(t, app, "Acme")
			clock := newClock()
			var mu sync.Mutex
			var sent []string
			testkit.Webhook(t, app, tenant, receiver(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				sent = append(sent, r.Header.Get("Webhook-Id")+" "+r.Header.Get("X-Attempt"))
				if len(sent) == 1 {
					clock.Advance(c.jumps[0])
				}
				if len(sent) <= 2 {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}), "")
			testkit.AddContact(t, app, tenant, "same")
			first := testkit.Emit(t, app, tenant, "same", event.ContactUpdated)
			second := testkit.Emit(t, app, tenant, "same", event.ContactUpdated)
			testkit.Execute(t, app, "UPDATE deliveries SET created = {:now}, updated = {:now}, nextAttempt = {:now}", dbx.Params{"now": stamp.Stored(clock.Now())})
			engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender(), Now: clock.Now, Random: func() float64 { return .5 }})
			for second := 0; second <= c.by; second += 5 {
				if second > 0 {
					clock.Advance(5*time.Second + c.jumps[second])
				}
				if _, err := engine.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if left := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE status != 'delivered'", nil); left > 0 {
				t.Errorf("after %d s %d are not delivered; sent: %v", c.by, left, sent)
			}
			slices.Sort(sent[1:]) // each once, the first of the first before all others
			if len(slices.Compact(sent)) != 4 || sent[0] != "evt_"+first+" 1" || !slices.Contains(sent, "evt_"+second+" 1") {
				t.Errorf("sent %v", sent)
			}
		})
	}
}

// The loop, too, plans by the clock: an engine that looks for work when the clock is set must not sleep
// until it is right.
func TestEngineWakesUpWhenItsClockIsSetBack(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Round(0).Add(time.Duration(offset.Load())) }
	arrived := make(chan string, 10)
	testkit.Webhook(t, app, tenant, receiver(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusBadRequest) // which opens no circuit
		arrived <- r.Header.Get("X-Attempt")
	}), "")
	policy := delivery.Policy{Delays: []time.Duration{0, time.Second, time.Second, time.Second, time.Second}}
	start(t, app, delivery.Options{Now: now, Policy: policy})
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	for attempt, set := range []time.Duration{-time.Hour, 24 * time.Hour, -24 * time.Hour, time.Hour} {
		if got, want := receive(t, arrived), string(rune('1'+attempt)); got != want {
			t.Fatalf("attempt %s came, want %s", got, want)
		}
		testkit.Eventually(t, "the next attempt is planned", func() bool {
			return testkit.Count(t, app, "SELECT attempts FROM deliveries", nil) == attempt+1
		})
		offset.Add(int64(set))
	}
	receive(t, arrived)
}
