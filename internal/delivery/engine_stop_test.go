package delivery_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

func TestEngineTakesOverFromADeadProcess(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	arrived := make(chan string, 1)
	testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) { arrived <- r.Header.Get("X-Attempt") }), "")
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	// a process that claims and dies: its lock goes with it, its claim stays for an hour
	dead := delivery.ClaimOptions{Now: time.Now(), Lease: time.Hour, Limit: 1, PerEndpoint: 1}
	if jobs, err := testkit.Deliveries(app).Claim(t.Context(), dead); len(jobs) != 1 || err != nil {
		t.Fatalf("claimed %v, %v", jobs, err)
	}
	start(t, app, delivery.Options{})
	if number := receive(t, arrived); number != "1" {
		t.Errorf("it was attempt %s", number)
	}
}

func TestOneEngineSendsForAFolder(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	second := testkit.Reopen(t, app)
	tenant := testkit.Tenant(t, app, "Acme")
	arrived := make(chan string, 10)
	testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) { arrived <- r.Header.Get("User-Agent") }), "")
	named := func(name string) delivery.Options {
		return delivery.Options{Sender: delivery.NewSender(client(), name)}
	}

	_, stopFirst := start(t, app, named("first"))
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	if got := receive(t, arrived); got != "Contactbase/first" {
		t.Errorf("%s sent", got)
	}
	waiting, stopSecond := start(t, second, named("second"))
	waiting.Wake()
	// made by the other process, found by the poll of the one that sends
	testkit.Emit(t, second, tenant, "", event.ContactUpdated)
	if got := receive(t, arrived); got != "Contactbase/first" {
		t.Errorf("%s sent beside the first", got)
	}
	stopFirst()
	testkit.Emit(t, second, tenant, "", event.ContactUpdated)
	if got := receive(t, arrived); got != "Contactbase/second" {
		t.Errorf("%s sent after the first ended", got)
	}
	stopSecond()
}

// Where the file system has no locks the claims alone keep two processes apart.
func TestEnginesWithoutALockSendEachAttemptOnce(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	second := testkit.Reopen(t, app)
	if err := os.Mkdir(filepath.Join(app.DataDir(), ".contactbase-engine.lock"), 0o700); err != nil { // in the way of the file
		t.Fatal(err)
	}
	tenant := testkit.Tenant(t, app, "Acme")
	const n = 200
	var mu sync.Mutex
	attempts, senders := map[string]int{}, map[string]int{}
	all := make(chan struct{})
	testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		senders[r.Header.Get("User-Agent")]++
		if attempts[r.Header.Get("X-Delivery")+" "+r.Header.Get("X-Attempt")]++; len(attempts) == n {
			close(all)
		}
	}), "")
	for range n {
		testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	}
	_, stopFirst := start(t, app, delivery.Options{Sender: delivery.NewSender(client(), "first")})
	_, stopSecond := start(t, second, delivery.Options{Sender: delivery.NewSender(client(), "second")})
	receive(t, all)
	stopFirst()
	stopSecond()
	for attempt, times := range attempts {
		if times != 1 {
			t.Errorf("%s was sent %d times", attempt, times)
		}
	}
	t.Logf("attempts by sender: %v", senders)
}

func TestEngineStops(t *testing.T) {
	t.Parallel()
	for what, patient := range map[string]bool{"after the attempt": true, "without waiting": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			tenant := testkit.Tenant(t, app, "Acme")
			arrived, release := make(chan struct{}, 1), make(chan struct{})
			testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				arrived <- struct{}{}
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}), "")
			id := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
			engine, _ := start(t, app, delivery.Options{})
			receive(t, arrived)

			ctx, cancel := context.WithCancel(t.Context())
			want := testkit.Delivery{Status: "delivered", Attempts: 1}
			if patient {
				close(release)
			} else {
				cancel()
				want = testkit.Delivery{Status: "pending"}
			}
			if err := engine.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			if got := testkit.DeliveryOf(t, app, id); got.Status != want.Status || got.Attempts != want.Attempts || got.LeaseUntil != "" {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestEngineThatWasNotStartedStops(t *testing.T) {
	t.Parallel()
	if err := delivery.NewEngine(nil, delivery.Options{Sender: sender()}).Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// brokenQueue fails the first call of each method.
type brokenQueue struct {
	delivery.Store
	places, claims, completions atomic.Int32
}

var errBroken = errors.New("database is locked")

func (q *brokenQueue) Place(ctx context.Context, now time.Time, age time.Duration) (bool, error) {
	if q.places.Add(1) == 1 {
		return false, errBroken
	}
	return q.Store.Place(ctx, now, age)
}

func (q *brokenQueue) Claim(ctx context.Context, options delivery.ClaimOptions) ([]*delivery.Job, error) {
	if q.claims.Add(1) == 1 {
		return nil, errBroken
	}
	return q.Store.Claim(ctx, options)
}

func (q *brokenQueue) Complete(ctx context.Context, results []delivery.Result, now time.Time) error {
	if len(results) > 0 && q.completions.Add(1) == 1 {
		return errBroken
	}
	return q.Store.Complete(ctx, results, now)
}

func TestEngineOutlivesErrorsOfTheQueue(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	var n atomic.Int32
	arrived := make(chan struct{}, 10)
	testkit.Webhook(t, app, tenant, receiver(t, func(http.ResponseWriter, *http.Request) {
		n.Add(1)
		arrived <- struct{}{}
	}), "")
	events := writeEvents(t, app, tenant, "same", 2) // the second goes out once the result of the first is stored
	testkit.AddContact(t, app, tenant, "same")
	_, stop := start(t, app, delivery.Options{Store: &brokenQueue{Store: testkit.Deliveries(app)}})
	receive(t, arrived)
	receive(t, arrived)
	stop()
	for _, id := range events {
		if got := testkit.DeliveryOf(t, app, strings.TrimPrefix(id, event.IDPrefix)); got.Status != "delivered" || got.Attempts != 1 {
			t.Errorf("got %+v", got)
		}
	}
	if n.Load() != 2 {
		t.Errorf("%d requests for 2 deliveries", n.Load())
	}
}
