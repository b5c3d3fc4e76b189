package delivery_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// Hundreds of endpoints of one tenant leave something to the others, even where their attempts end only with the
// engine.
func TestEngineIsolatesTenantsWithHangingEndpoints(t *testing.T) {
	t.Parallel()
	for what, hang := range map[string]bool{"switching protocols": false, "hanging for ever": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			hostile, healthy := testkit.Tenant(t, app, "Hostile"), testkit.Tenant(t, app, "Healthy")
			switching := serveHostile(t, overTCP, says(switched, hold))
			const webhooks = 600 // more than half of the attempts that there may be, with two each
			testkit.Execute(t, app, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n}) "+
				"INSERT INTO webhooks (id, tenant, url, secret, created, updated) "+
				"SELECT printf('webhook%08d', i), {:tenant}, {:url}, 'a typed secret', {:now}, {:now} FROM n",
				dbx.Params{"n": webhooks, "tenant": hostile, "url": switching.url, "now": stamp.Stored(time.Now())})
			arrived := make(chan struct{}, 100)
			testkit.Webhook(t, app, healthy, receiver(t, func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }), "")
			for range 2 {
				testkit.Emit(t, app, hostile, "", event.ContactUpdated)
			}
			const most = 512 // half of all
			var hanging atomic.Int32
			full := make(chan struct{})
			sends := sender()
			engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sends, MaxInFlight: 2 * most})
			if hang {
				engine.SetSend(func(ctx context.Context, job *delivery.Job) *delivery.Attempt {
					if job.Endpoint.TenantID == hostile {
						if hanging.Add(1) == most {
							close(full)
						}
						<-ctx.Done()
					}
					return sends.Send(ctx, job)
				})
			}
			run(t, engine)
			if hang {
				receive(t, full)
			}
			for range 5 {
				testkit.Emit(t, app, healthy, "", event.ContactUpdated)
				engine.Wake()
				receive(t, arrived)
			}
			if hanging.Load() > most {
				t.Errorf("the hostile tenant has %d attempts in flight", hanging.Load())
			}
		})
	}
}

// run starts an engine that does not wait for attempts when the test ends.
func run(t *testing.T, engine *delivery.Engine) {
	engine.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		t.Logf("stopping the engine: %v", engine.Stop(ctx))
	})
}

func TestEngineStopsWhateverAnAttemptDoes(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com/", "")
	id := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender()})
	begun, never := make(chan struct{}), make(chan struct{})
	engine.SetSend(func(_ context.Context, job *delivery.Job) *delivery.Attempt {
		close(begun)
		<-never
		return &delivery.Attempt{DeliveryID: job.DeliveryID, Number: job.Attempt, Outcome: delivery.Outcome{Status: 200}}
	})
	engine.Start()
	receive(t, begun)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- engine.Stop(ctx) }()
	if err := receive(t, stopped); err != nil {
		t.Fatal(err)
	}
	close(never)
	if got := testkit.DeliveryOf(t, app, id); got.Status != "pending" || got.Attempts != 0 {
		t.Errorf("what was in flight: got %+v", got)
	}
}

// stuckQueue does not return from a fetch before it is released.
type stuckQueue struct {
	delivery.Queue
	fetching, release chan struct{}
}

func (q *stuckQueue) Fetch(context.Context, delivery.Fetch) ([]*delivery.Job, error) {
	close(q.fetching)
	<-q.release
	return nil, errors.New("too late")
}

func TestEngineStopsWhateverTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	queue := &stuckQueue{Queue: testkit.Deliveries(app), fetching: make(chan struct{}), release: make(chan struct{})}
	engine := delivery.NewEngine(app, delivery.Options{Sender: sender(), Queue: queue})
	engine.Start()
	receive(t, queue.fetching)
	defer close(queue.release)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- engine.Stop(ctx) }()
	if err := receive(t, stopped); err == nil || !strings.Contains(err.Error(), "does not respond") {
		t.Errorf("got %v", err)
	}
}

// collectors takes what is registered.
type collectors struct {
	prometheus.Registerer
	all []prometheus.Collector
}

func (c *collectors) MustRegister(all ...prometheus.Collector) { c.all = append(c.all, all...) }

// Whoever asks for the metrics and then does not read them must not hold up the deliveries.
func TestMetricsHoldUpNothing(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	registered := &collectors{}
	engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender(), Registerer: registered, Backlog: testkit.Deliveries(app).Backlog})
	const label = "collecting"
	found := make(chan prometheus.Metric)
	collected := make(chan struct{})
	go labelled(t, label, func() {
		defer close(collected)
		registered.all[0].Collect(found)
	})
	for range 4 { // three counters and a histogram
		receive(t, found)
	}
	testkit.Eventually(t, "a gauge is being sent", func() bool { return strings.Contains(leftOver(label), "(*selfCollector).Collect") })
	made := make(chan error, 1)
	go func() {
		_, err := engine.RunOnce(t.Context())
		made <- err
	}()
	if err := receive(t, made); err != nil {
		t.Error(err)
	}
	go func() {
		for range found { //nolint:revive // the rest
		}
	}()
	receive(t, collected)
	close(found)
}
