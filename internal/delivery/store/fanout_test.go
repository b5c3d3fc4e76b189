package store_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// A webhook gets the kinds that it asks for, and all where it asks for none.
func TestPlaceByKind(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	webhook := func(kinds ...string) string {
		return testkit.Record(t, app, "webhooks", map[string]any{"tenant": tenant, "url": "https://hooks.example.com", "events": kinds}).Id
	}
	all, created, some := webhook(), webhook("contact.created"), webhook("contact.created", "contact.deleted")
	events := map[string][]string{}
	for i, c := range []struct {
		tenant string
		kind   event.Kind
		want   []string
	}{
		{tenant, event.ContactCreated, []string{all, created, some}},
		{tenant, event.ContactUpdated, []string{all}},
		{tenant, event.ContactDeleted, []string{all, some}},
		{"nobody", event.ContactCreated, nil},
	} {
		e := &event.Event{Kind: c.kind, TenantID: c.tenant, Contact: "contact" + strconv.Itoa(i), Data: struct{}{}}
		if err := testkit.WriteEvent(app, e, time.Now()); err != nil {
			t.Fatal(err)
		}
		events[e.ID] = c.want
	}
	testkit.FanOut(t, app)
	for id, want := range events {
		if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE event = {:event}", dbx.Params{"event": id}); n != len(want) {
			t.Errorf("%d deliveries, not %d", n, len(want))
		}
		for _, webhook := range want {
			n := testkit.Count(t, app, "SELECT count(*) FROM deliveries d JOIN events e ON e.id = d.event WHERE e.id = {:event} AND d.webhook = {:webhook} AND d.tenant = e.tenant "+
				"AND d.contact = e.contact AND d.status = 'pending' AND d.attempts = 0 AND d.blocked = 0 AND d.nextAttempt = e.created AND d.created = e.created AND d.updated = e.created AND length(d.id) = 15",
				dbx.Params{"event": id, "webhook": webhook})
			if n != 1 {
				t.Errorf("%d deliveries to %s", n, webhook)
			}
		}
	}
}

// What no webhook wants costs a commit a second, and keeps nothing else from being placed.
func TestEventsThatNobodyWants(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	quiet, loud := testkit.Tenant(t, app, "Quiet"), testkit.Tenant(t, app, "Loud")
	testkit.Webhook(t, app, loud, "https://hooks.example.com", "")
	deliveries := store.New(app)
	position := func() (id string) {
		t.Helper()
		if err := app.DB().NewQuery("SELECT event FROM _fanOutCursor").Row(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	emit := func(tenant string) string {
		t.Helper()
		e := &event.Event{Kind: event.ContactCreated, TenantID: tenant, Data: struct{}{}}
		if err := testkit.WriteEvent(app, e, time.Now()); err != nil {
			t.Fatal(err)
		}
		if out, err := deliveries.FanOut(t.Context(), time.Now()); out.More || err != nil {
			t.Fatalf("the fan-out ends with %t, %v", out.More, err)
		}
		return e.ID
	}
	first := emit(quiet)
	if got := position(); got != first {
		t.Errorf("the position is %s instead of %s", got, first)
	}
	deliveries.MovedAt(time.Now().Add(time.Hour)) // so that the second is not over, however slow the machine is
	unwanted := emit(quiet)
	if got := position(); got != first {
		t.Errorf("within a second the position is %s instead of %s", got, first)
	}
	testkit.Webhook(t, app, quiet, "https://hooks.example.com", "")
	wanted := emit(quiet)
	if got := position(); got != wanted {
		t.Errorf("the position is %s instead of %s", got, wanted)
	}
	silent := testkit.Tenant(t, app, "Silent")
	deliveries.MovedAt(time.Time{})
	if later := emit(silent); position() != later {
		t.Errorf("after a second the position is %s instead of %s", position(), later)
	}
	deliveries.MovedAt(time.Now().Add(time.Hour))
	gone := emit(silent)
	testkit.Execute(t, app, "DELETE FROM events WHERE id = {:id}", dbx.Params{"id": gone})
	last := emit(loud) // in the row of the one that is gone
	for id, want := range map[string]int{first: 0, unwanted: 0, wanted: 1, last: 1} {
		if got := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE event = {:id}", dbx.Params{"id": id}); got != want {
			t.Errorf("the event %s has %d deliveries instead of %d", id, got, want)
		}
	}
}

// Where no webhook is enabled, the cursor passes all events, and none that a webhook wants later.
func TestNobodyWantsEvents(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	disabled := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	testkit.Execute(t, app, "UPDATE webhooks SET disabled = 1 WHERE id = {:id}", dbx.Params{"id": disabled})
	testkit.Events(t, app, tenant, 1_000, time.Now())
	deliveries := store.New(app)
	fanOut := func() {
		t.Helper()
		for more := true; more; {
			out, err := deliveries.FanOut(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			more = out.More
		}
	}
	fanOut()
	if got := testkit.Count(t, app, "SELECT count(*) FROM _fanOutCursor WHERE event = 'e00000000001000'", nil); got != 1 {
		t.Error("the position is not at the newest event")
	}
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	wanted := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	fanOut()
	if got := testkit.Count(t, app, "SELECT count(*) FROM deliveries", nil); got != 1 {
		t.Errorf("there are %d deliveries, not that of %s alone", got, wanted)
	}
}

// VACUUM gives rows other numbers, and the position stays where it is.
func TestPositionOutlastsVacuum(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	var events []string
	for range 5 {
		events = append(events, testkit.Emit(t, app, tenant, "", event.ContactUpdated))
	}
	waiting := &event.Event{Kind: event.ContactUpdated, TenantID: tenant, Data: struct{}{}}
	if err := testkit.WriteEvent(app, waiting, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, id := range events[:4] {
		testkit.Execute(t, app, "DELETE FROM events WHERE id = {:id}", dbx.Params{"id": id})
	}
	row := func() int {
		return testkit.Count(t, app, "SELECT rowid FROM events WHERE id = {:id}", dbx.Params{"id": waiting.ID})
	}
	before := row()
	testkit.Execute(t, app, "VACUUM", nil)
	if after := row(); after == before {
		t.Skipf("VACUUM left the row %d where it is", after)
	}
	if out, err := store.New(app).FanOut(t.Context(), time.Now()); out.More || err != nil {
		t.Fatal(out.More, err)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE event = {:event} AND webhook = {:webhook}", dbx.Params{"event": waiting.ID, "webhook": webhook}); n != 1 {
		t.Errorf("the event behind the position has %d deliveries", n)
	}
}

// Placing in steps ends although others write more than it places.
func TestFanOutEndsBesideWriters(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	const more = "INSERT INTO events (id, tenant, type, payload, created) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) " +
		"SELECT lower(hex(randomblob(7))) || i, 'nobody', 'contact.updated', '{}', '2026-01-31 12:00:00.000Z' FROM n"
	testkit.Execute(t, app, more, nil)
	testkit.Execute(t, app, "CREATE TRIGGER busy AFTER UPDATE ON _fanOutCursor BEGIN INSERT INTO events (id, tenant, type, payload, created) "+
		"SELECT lower(hex(randomblob(7))), tenant, type, payload, created FROM events LIMIT 1000; END", nil)
	if err := store.New(app).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	backlog, err := store.New(app).Backlog(t.Context())
	if err != nil || backlog.FanOut == 0 {
		t.Errorf("%d events are left, %v", backlog.FanOut, err)
	}
}
