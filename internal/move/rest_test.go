package move_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/move"
	"contactbase/internal/testkit"
)

// holding is a transport that responds once it is released.
type holding struct{ arrived, letGo chan struct{} }

func (holding) CheckURL(*url.URL) error { return nil }

func (h holding) Deliver(ctx context.Context, _ *delivery.Job, _ http.Header) error {
	h.arrived <- struct{}{}
	select {
	case <-h.letGo:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Freezing waits for deliveries that another process's engine has in flight, fanned out or not.
func TestFreezeWaitsForTheEngine(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	owner := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, owner, "inspect:", "")
	h := holding{make(chan struct{}, 10), make(chan struct{})}
	sender := delivery.NewSender(http.DefaultClient, "1.2.3")
	sender.Handle(delivery.InspectScheme, h)
	engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender})
	engine.Start()
	t.Cleanup(func() { _ = engine.Stop(context.Background()) })
	id := testkit.Emit(t, app, owner, "", event.ContactUpdated)
	engine.Wake()
	<-h.arrived
	other := testkit.Reopen(t, app)
	frozen := make(chan error, 1)
	go func() {
		_, err := move.Freeze(t.Context(), other, testkit.Deliveries(other), owner)
		frozen <- err
	}()
	testkit.Eventually(t, "the freeze",
		func() bool { return testkit.Count(t, app, "SELECT count(*) FROM _moves", nil) == 1 })
	engine.Wake()
	select {
	case err := <-frozen:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	close(h.letGo)
	if err := <-frozen; err != nil {
		t.Fatal(err)
	}
	if got := testkit.DeliveryOf(t, app, id); got.Status != delivery.StatusDelivered {
		t.Errorf("the export would read %+v", got)
	}
}
