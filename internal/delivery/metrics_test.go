package delivery_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	status := http.StatusOK
	testkit.Webhook(t, app, tenant, receiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }), "")
	registry := prometheus.NewPedanticRegistry()
	clock := newClock()
	engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender(), Registerer: registry, Backlog: testkit.Deliveries(app).Backlog, Now: clock.Now})
	expect := func(want map[string]float64) {
		t.Helper()
		got := testkit.Metrics(t, registry)
		for name, value := range want {
			if found, ok := got["contactbase_delivery_"+name]; !ok || found != value {
				t.Errorf("%s: %v, want %v", name, found, value)
			}
		}
	}
	expect(map[string]float64{
		"attempts_total delivered": 0, "attempts_total retry": 0, "attempts_total failed": 0,
		"latency_seconds": 0, "pending": 0, "oldest_pending_seconds": 0, "disabled_endpoints": 0, "in_flight": 0,
	})
	clock.Advance(time.Minute)
	for _, code := range []int{200, 500, 410} {
		status = code
		testkit.Emit(t, app, tenant, "", event.ContactUpdated)
		if made, err := engine.RunOnce(t.Context()); made != 1 || err != nil {
			t.Fatalf("made %d, %v", made, err)
		}
	}
	testkit.Execute(t, app, "UPDATE deliveries SET created = {:at} WHERE status = 'pending'", dbx.Params{"at": stamp.Stored(clock.Now().Add(-time.Hour))})
	expect(map[string]float64{
		"attempts_total delivered": 1, "attempts_total retry": 1, "attempts_total failed": 1,
		"latency_seconds": 1, "pending": 1, "oldest_pending_seconds": 3600, "fanout_lag_seconds": 0, "disabled_endpoints": 1, "in_flight": 0,
	})
}
