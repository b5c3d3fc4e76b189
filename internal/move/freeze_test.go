package move_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/move"
	"contactbase/internal/retention"
	"contactbase/internal/safehttp"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// Freezing waits for deliveries in flight, and none are claimed afterwards.
func TestFreezeDrains(t *testing.T) {
	t.Parallel()
	s := newSource(t, 30)
	release, arrived := make(chan struct{}), make(chan struct{}, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		w.WriteHeader(http.StatusGone)
	}))
	t.Cleanup(receiver.Close)
	testkit.Execute(t, s.app, "UPDATE webhooks SET url = {:url}", dbx.Params{"url": receiver.URL})
	client := safehttp.New(safehttp.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	sending := testkit.Reopen(t, s.app)
	engine := delivery.NewEngine(sending, delivery.Options{Sender: delivery.NewSender(client, "1"), Queue: testkit.Deliveries(sending)})
	engine.Start()
	t.Cleanup(func() { _ = engine.Stop(context.Background()) })
	<-arrived
	frozen := make(chan error, 1)
	go func() {
		_, err := move.Freeze(t.Context(), testkit.Reopen(t, s.app), testkit.Deliveries(s.app), s.tenant)
		frozen <- err
	}()
	testkit.Eventually(t, "the freeze", func() bool {
		return testkit.Count(t, s.app, "SELECT count(*) FROM _moves", nil) == 1
	})
	select {
	case err := <-frozen:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(3 * 100 * time.Millisecond):
	}
	close(release)
	if err := <-frozen; err != nil {
		t.Fatal(err)
	}
	sent := len(arrived)
	if n := testkit.Count(t, s.app, "SELECT count(*) FROM webhooks WHERE disabled = 1", nil); n != 1 {
		t.Error("the webhook that is gone is not disabled")
	}
	testkit.Execute(t, s.app, "UPDATE webhooks SET disabled = 0", nil)
	engine.Wake()
	if err := engine.Stop(t.Context()); err != nil || len(arrived) != sent {
		t.Errorf("%d deliveries of a frozen tenant are sent, %v", len(arrived)-sent, err)
	}
}

// A frozen tenant has the deliveries of all events, also of those that many webhooks want.
func TestFreezeFansOutToMany(t *testing.T) {
	t.Parallel()
	s := newSource(t, 1)
	testkit.Execute(t, s.app, `INSERT INTO webhooks (id, tenant, url, secret, created, updated)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
		SELECT printf('many%011d', i), {:tenant}, 'https://hooks.example.com', '', '', '' FROM n`, dbx.Params{"tenant": s.tenant})
	id := testkit.Write(t, s.app, s.tenant, "", event.ContactUpdated)
	s.freeze(t)
	n := testkit.Count(t, s.app, "SELECT count(*) FROM deliveries WHERE event = {:event} AND webhook LIKE 'many%'", dbx.Params{"event": id})
	if n != 1_000 {
		t.Errorf("the event has %d deliveries", n)
	}
}

// guards returns the number of triggers on contacts.
func guards(t *testing.T, app core.App) int {
	t.Helper()
	return testkit.Count(t, app, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'contacts'", nil)
}

// The triggers on contacts exist while a tenant is being imported.
func TestGuardsOfAnImport(t *testing.T) {
	t.Parallel()
	s := newSource(t, 30)
	s.freeze(t)
	archive, target, met := s.export(t), newTarget(t), 0
	err := importInto(t.Context(), t, target, archive, func(g *move.Target) {
		g.Progress = func(int, int) { met = max(met, guards(t, target)) }
	})
	if left := guards(t, target); err != nil || met != 3 || left != 0 {
		t.Errorf("while it arrives there are %d triggers, and then %d: %v", met, left, err)
	}
}

// The triggers on contacts exist while a tenant is moving: until it is opened again or deleted.
func TestGuardsDuringAMove(t *testing.T) {
	t.Parallel()
	s := newSource(t, 30)
	expect := func(when string, want int) {
		t.Helper()
		if got := guards(t, s.app); got != want {
			t.Errorf("%s there are %d triggers, not %d", when, got, want)
		}
	}
	expect("before", 0)
	s.freeze(t)
	expect("while it moves", 3)
	if _, err := s.app.DB().NewQuery("UPDATE contacts SET name = 'x'").Execute(); !tenant.IsMoving(err) {
		t.Errorf("the console of SQL may write: %v", err)
	}
	if _, err := tenant.Unfreeze(s.app, s.tenant); err != nil {
		t.Fatal(err)
	}
	expect("after unfreezing", 0)
	s.freeze(t)
	record, err := s.app.FindRecordById("tenants", s.tenant)
	if err == nil {
		err = s.app.Delete(record)
	}
	if err == nil {
		err = retention.Sweep(t.Context(), s.app, testkit.Deliveries(s.app))
	}
	if err != nil {
		t.Fatal(err)
	}
	expect("when it is deleted", 0)
	if n := testkit.Count(t, s.app, "SELECT count(*) FROM contacts WHERE tenant = {:tenant}", dbx.Params{"tenant": s.tenant}); n != 0 {
		t.Errorf("%d contacts are left", n)
	}
}
