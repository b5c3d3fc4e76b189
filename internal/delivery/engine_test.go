package delivery_test

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// start starts an engine that is stopped when the test ends, and before that by calling what it returns.
func start(tb testing.TB, app core.App, options delivery.Options) (engine *delivery.Engine, stop func()) {
	tb.Helper()
	if options.Sender == nil {
		options.Sender = sender()
	}
	if options.Queue == nil {
		options.Queue = testkit.Deliveries(app)
	}
	engine = delivery.NewEngine(app, options)
	engine.Start()
	stop = sync.OnceFunc(func() {
		if err := engine.Stop(deadline(tb)); err != nil {
			tb.Errorf("stopping the engine: %v", err)
		}
	})
	tb.Cleanup(stop)
	return engine, stop
}

// receive waits for something that only fails to come where the engine is broken.
func receive[T any](tb testing.TB, from <-chan T) T {
	tb.Helper()
	select {
	case value := <-from:
		return value
	case <-deadline(tb).Done():
		tb.Fatal("nothing came")
		panic("unreachable")
	}
}

func TestEngineDelivers(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	arrived := make(chan string, 10)
	testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Signature") != delivery.Sign("a typed secret", body) {
			t.Errorf("the signature of %s does not fit", body)
		}
		arrived <- r.Header.Get("Webhook-Id")
	}), "a typed secret")
	engine, stop := start(t, app, delivery.Options{})
	for range 3 {
		id := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
		engine.Wake()
		if got := receive(t, arrived); got != "evt_"+id {
			t.Errorf("got %s, want evt_%s", got, id)
		}
	}
	stop()
	if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE status = 'delivered' AND attempts = 1 AND lastStatus = 200", nil); n != 3 {
		t.Errorf("%d of 3 are stored as delivered", n)
	}
}

func TestEngineKeepsTheSchedule(t *testing.T) {
	t.Parallel()
	schedule := []time.Duration{
		5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 28 * time.Hour,
	}
	for what, handler := range map[string]http.HandlerFunc{
		"answers 500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"answers 503": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"hangs up":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			tenant := testkit.Tenant(t, app, "Acme")
			var mu sync.Mutex
			var attempts, bodies []string
			testkit.Webhook(t, app, tenant, receiver(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				attempts = append(attempts, r.Header.Get("X-Attempt"))
				bodies = append(bodies, r.Header.Get("Webhook-Id")+string(body))
				mu.Unlock()
				handler(w, r)
			}), "")
			id := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
			clock := newClock()
			engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender(), Now: clock.Now, Random: func() float64 { return .5 }})
			for number, wait := range schedule {
				if made, err := engine.RunOnce(t.Context()); made != 1 || err != nil {
					t.Fatalf("attempt %d: made %d, %v", number+1, made, err)
				}
				state := testkit.DeliveryOf(t, app, id)
				if state.Status != "pending" || state.Attempts != number+1 || state.NextAttempt != stamp.Stored(clock.Now().Add(wait)) {
					t.Fatalf("after attempt %d at %v: %+v", number+1, clock.Now(), state)
				}
				clock.Advance(wait - time.Millisecond)
				if made, err := engine.RunOnce(t.Context()); made != 0 || err != nil {
					t.Fatalf("before attempt %d: made %d, %v", number+2, made, err)
				}
				clock.Advance(time.Millisecond)
			}
			if made, err := engine.RunOnce(t.Context()); made != 1 || err != nil {
				t.Fatalf("attempt 10: made %d, %v", made, err)
			}
			if state := testkit.DeliveryOf(t, app, id); state.Status != "failed" || state.Attempts != 10 || state.NextAttempt != "" || state.LastError == "" {
				t.Errorf("in the end: %+v", state)
			}
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(attempts, " "); got != "1 2 3 4 5 6 7 8 9 10" {
				t.Errorf("X-Attempt was %s", got)
			}
			if len(slices.Compact(bodies)) != 1 {
				t.Error("id and body differ between attempts")
			}
			if disabled := testkit.Count(t, app, "SELECT disabled FROM webhooks", nil); disabled != 1 {
				t.Error("the webhook is not disabled after three days of failures")
			}
		})
	}
}

func TestEngineDisablesAnEndpointThatIsGone(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, receiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }), "")
	first := testkit.Emit(t, app, tenant, "same", event.ContactCreated)
	second := testkit.Emit(t, app, tenant, "same", event.ContactUpdated)
	engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender()})
	for _, want := range []int{1, 0} {
		if made, err := engine.RunOnce(t.Context()); made != want || err != nil {
			t.Errorf("made %d, %v", made, err)
		}
	}
	if got := testkit.DeliveryOf(t, app, first); got.Status != "failed" || got.LastStatus != 410 {
		t.Errorf("got %+v", got)
	}
	if got := testkit.DeliveryOf(t, app, second); got.Status != "pending" || got.Attempts != 0 {
		t.Errorf("what was pending: got %+v", got)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM webhooks WHERE disabled = 1 AND disabledReason LIKE '%410%'", nil); n != 1 {
		t.Error("the webhook is not disabled")
	}
}

func TestEngineHonoursRetryAfterForTheEndpoint(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	var limited, free atomic.Int32
	testkit.Webhook(t, app, tenant, receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		limited.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	}), "")
	testkit.Webhook(t, app, other, receiver(t, func(http.ResponseWriter, *http.Request) { free.Add(1) }), "")
	clock := newClock()
	engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender(), Now: clock.Now})
	run := func() {
		t.Helper()
		if _, err := engine.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	clock.Advance(time.Second)
	run()
	if got := testkit.DeliveryOf(t, app, first); got.NextAttempt != stamp.Stored(clock.Now().Add(time.Hour)) {
		t.Errorf("got %+v", got)
	}
	second := testkit.DeliveryOf(t, app, testkit.Emit(t, app, tenant, "", event.ContactUpdated))
	testkit.Emit(t, app, other, "", event.ContactUpdated)
	clock.Advance(time.Hour - time.Second)
	run()
	if limited.Load() != 1 || free.Load() != 1 {
		t.Errorf("before its time: %d attempts at the endpoint, %d at another", limited.Load(), free.Load())
	}
	if _, err := testkit.Deliveries(app).Redeliver(second.ID, clock.Now()); err != nil {
		t.Fatal(err)
	}
	run()
	if limited.Load() != 2 {
		t.Error("a redelivery that somebody asked for did not pass")
	}
	clock.Advance(2 * time.Hour)
	run()
	if limited.Load() != 3 { // one as a probe
		t.Errorf("after its time: %d attempts", limited.Load())
	}
}

func TestEngineIsolatesHangingEndpoints(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	release := make(chan struct{})
	hanging := receiver(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release) // before the engine is stopped and the receiver closed, which wait for what hangs
	for range 12 {
		testkit.Webhook(t, app, tenant, hanging, "")
	}
	healthy, arrived := testkit.Tenant(t, app, "Healthy"), make(chan struct{}, 100)
	testkit.Webhook(t, app, healthy, receiver(t, func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }), "")
	for range 5 {
		testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	}
	// fewer slots than endpoints that hang
	engine, _ := start(t, app, delivery.Options{MaxInFlight: 8})
	for range 20 {
		testkit.Emit(t, app, healthy, "", event.ContactUpdated)
		engine.Wake()
	}
	for range 20 {
		receive(t, arrived)
	}
}

func TestEngineLimitsAnEndpoint(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	const limit, n = 3, 30
	var now, most atomic.Int32
	arrived := make(chan struct{}, n)
	testkit.Webhook(t, app, tenant, receiver(t, func(http.ResponseWriter, *http.Request) {
		if at := now.Add(1); at > most.Load() {
			most.Store(at)
		}
		arrived <- struct{}{}
		now.Add(-1)
	}), "")
	for range n {
		testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	}
	_, stop := start(t, app, delivery.Options{PerEndpoint: limit})
	for range n {
		receive(t, arrived)
	}
	stop()
	if most.Load() > limit {
		t.Errorf("%d attempts at a time, want at most %d", most.Load(), limit)
	}
}

func TestEngineKeepsTheOrderOfAContact(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	const contacts, each = 7, 30
	var mu sync.Mutex
	var got []string
	arrived := make(chan struct{}, contacts*each)
	testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("Webhook-Id"))
		arrived <- struct{}{}
	}), "")
	want := map[string][]string{}
	contactOf := map[string]string{}
	engine, stop := start(t, app, delivery.Options{})
	for i := range contacts * each {
		contact := "contact" + strconv.Itoa(i%contacts)
		if i < contacts {
			testkit.AddContact(t, app, tenant, contact)
		}
		id := "evt_" + testkit.Emit(t, app, tenant, contact, event.ContactUpdated)
		want[contact] = append(want[contact], id)
		contactOf[id] = contact
		engine.Wake()
	}
	for range contacts * each {
		receive(t, arrived)
	}
	stop()
	byContact := map[string][]string{}
	for _, id := range got {
		byContact[contactOf[id]] = append(byContact[contactOf[id]], id)
	}
	for contact, ids := range want {
		if !slices.Equal(byContact[contact], ids) {
			t.Errorf("%s: got %v, want %v", contact, byContact[contact], ids)
		}
	}
}

func TestEngineNeverRetriesAPing(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	webhook := testkit.Webhook(t, app, tenant, receiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }), "")
	store := testkit.Deliveries(app)
	attempt, err := delivery.Ping(t.Context(), store, sender(), webhook)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Redeliver(attempt.DeliveryID, time.Now()); err != nil {
		t.Fatal(err)
	}
	engine := delivery.NewEngine(app, delivery.Options{Queue: store, Sender: sender()})
	if made, err := engine.RunOnce(t.Context()); made != 1 || err != nil {
		t.Fatalf("made %d, %v", made, err)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE status = 'failed' AND attempts = 1", nil); n != 1 {
		t.Error("the ping is not over")
	}
}

func TestEngineDoesNotSendWithoutASecret(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, receiver(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") }), "")
	testkit.Execute(t, app, "UPDATE webhooks SET secret = 'enc:of another installation'", nil)
	id := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender()})
	if made, err := engine.RunOnce(t.Context()); made != 1 || err != nil {
		t.Fatalf("made %d, %v", made, err)
	}
	if got := testkit.DeliveryOf(t, app, id); got.Status != "pending" || !strings.Contains(got.LastError, "encryption key") {
		t.Errorf("got %+v", got)
	}
}
