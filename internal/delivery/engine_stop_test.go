package delivery_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

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

// Without a lock nothing keeps two engines from sending the same, so that an engine without it sends nothing, and says
// so.
func TestEngineWithoutALockSendsNothing(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	inTheWay := filepath.Join(app.DataDir(), ".contactbase-engine.lock")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	tenant := testkit.Tenant(t, app, "Acme")
	arrived := make(chan string, 1)
	testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) { arrived <- r.Header.Get("X-Attempt") }), "")
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	engine, _ := start(t, app, delivery.Options{})
	testkit.Eventually(t, "the fault is told", func() bool {
		err := engine.Working()
		return err != nil && strings.Contains(err.Error(), "cannot lock the data directory")
	})
	if len(arrived) > 0 {
		t.Error("something was sent")
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	receive(t, arrived) // it tries again
	testkit.Eventually(t, "the fault is over", func() bool { return engine.Working() == nil })
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
			if got := testkit.DeliveryOf(t, app, id); got.Status != want.Status || got.Attempts != want.Attempts {
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
	delivery.Queue
	polls, fetches, fanOuts, commits atomic.Int32
}

var errBroken = errors.New("database is locked")

func (q *brokenQueue) Poll(ctx context.Context) (delivery.Agenda, error) {
	if q.polls.Add(1) == 1 {
		return delivery.Agenda{}, errBroken
	}
	return q.Queue.Poll(ctx)
}

func (q *brokenQueue) Fetch(ctx context.Context, fetch delivery.Fetch) ([]*delivery.Job, error) {
	if q.fetches.Add(1) == 1 {
		return nil, errBroken
	}
	return q.Queue.Fetch(ctx, fetch)
}

func (q *brokenQueue) FanOut(ctx context.Context, now time.Time) (delivery.FannedOut, error) {
	if q.fanOuts.Add(1) == 1 {
		return delivery.FannedOut{}, errBroken
	}
	return q.Queue.FanOut(ctx, now)
}

func (q *brokenQueue) Commit(ctx context.Context, commit delivery.Commit) ([]delivery.Ready, error) {
	if q.commits.Add(1) == 1 {
		return nil, errBroken
	}
	return q.Queue.Commit(ctx, commit)
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
	_, stop := start(t, app, delivery.Options{Queue: &brokenQueue{Queue: testkit.Deliveries(app)}})
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

// What was read is not sent until it may be.
func TestEngineWaitsBeforeItSends(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	arrived, asked, allow := make(chan struct{}, 1), make(chan struct{}, 1), make(chan error)
	testkit.Webhook(t, app, tenant, receiver(t, func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }), "")
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	start(t, app, delivery.Options{BeforeSend: func(ctx context.Context) error {
		select {
		case asked <- struct{}{}:
		default:
		}
		select {
		case err := <-allow:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	receive(t, asked)
	allow <- errors.New("not replicated")
	receive(t, asked)
	if len(arrived) > 0 {
		t.Error("something was sent that may not be")
	}
	allow <- nil
	receive(t, arrived)
}
