package delivery_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

func TestEngineForgetsWhatWaitsForTooLong(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	clock := newClock()
	var slow atomic.Bool
	var requests atomic.Int32
	testkit.Webhook(t, app, tenant, receiver(t, func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		if slow.Load() {
			clock.Advance(10 * time.Second) // more than a claim may wait
		}
	}), "")
	engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender(), Now: clock.Now})
	run := func() int {
		t.Helper()
		made, err := engine.RunOnce(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	const n = 40
	clock.Advance(time.Minute) // what is made in real time is due
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	if made := run(); made != 1 { // it answers at once: from now on deliveries are claimed ahead
		t.Fatalf("made %d attempts", made)
	}
	for range n {
		testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	}
	slow.Store(true)
	made := run()
	if made == 0 || made >= n {
		t.Errorf("made %d attempts of %d that were claimed", made, n)
	}
	if left := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE status = 'pending' AND attempts = 0", nil); left != n-made {
		t.Errorf("%d were given back, want %d", left, n-made)
	}
	slow.Store(false)
	for range n {
		if run() == 0 {
			break
		}
	}
	if delivered := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE status = 'delivered' AND attempts = 1", nil); delivered != n+1 || requests.Load() != n+1 {
		t.Errorf("%d of %d were delivered, with %d requests", delivered, n+1, requests.Load())
	}
}

func TestEngineProbesAnEndpointThatFailed(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	var requests atomic.Int32
	arrived := make(chan string, 10)
	testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		arrived <- r.Header.Get("Webhook-Id")
	}), "")
	first := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	engine, stop := start(t, app, delivery.Options{PerEndpoint: 1})
	second := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	engine.Wake()
	if got := receive(t, arrived); got != "evt_"+second {
		t.Errorf("got %s", got)
	}
	stop()
	if got := testkit.DeliveryOf(t, app, first); got.Status != "pending" || got.Attempts != 1 || got.LastError == "" {
		t.Errorf("what failed: got %+v", got)
	}
}
