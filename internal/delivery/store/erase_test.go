package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

func TestEraseContact(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Echo", "grace@example.com")
		_, _ = w.Write([]byte("hello grace@example.com"))
	}))
	t.Cleanup(receiver.Close)
	testkit.Webhook(t, app, tenant, receiver.URL, "")
	testkit.AddContact(t, app, tenant, "grace")
	testkit.AddContact(t, app, tenant, "other")
	run := func() {
		t.Helper()
		engine := delivery.NewEngine(app, delivery.Options{Queue: store.New(app), Sender: testkit.NewSender()})
		engine.Start()
		testkit.Eventually(t, "every event is delivered", func() bool {
			return testkit.Count(t, app, "SELECT count(*) FROM events WHERE id NOT IN (SELECT event FROM deliveries WHERE status = 'delivered')", nil) == 0
		})
		if err := engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mentions := func() (payloads, answers int) {
		return testkit.Count(t, app, "SELECT count(*) FROM events WHERE payload LIKE '%grace@example.com%' AND contact = 'grace'", nil),
			testkit.Count(t, app, "SELECT count(*) FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery JOIN events e ON e.id = d.event "+
				"WHERE (a.responseBody || a.responseHeaders) LIKE '%grace@example.com%' AND e.contact = 'grace'", nil)
	}
	done := testkit.Emit(t, app, tenant, "grace", event.ContactCreated)
	testkit.Emit(t, app, tenant, "other", event.ContactCreated)
	run()
	pending := testkit.Emit(t, app, tenant, "grace", event.ContactUpdated)
	var emitted string
	if err := app.DB().NewQuery("SELECT json_extract(payload, '$.timestamp') FROM events WHERE id = {:id}").Bind(dbx.Params{"id": done}).Row(&emitted); err != nil {
		t.Fatal(err)
	}
	if payloads, answers := mentions(); payloads != 2 || answers != 1 {
		t.Fatalf("before: %d payloads, %d answers", payloads, answers)
	}

	var gone string
	err := app.RunInTransaction(func(tx core.App) error {
		if _, err := tx.DB().NewQuery("DELETE FROM contacts WHERE id = 'grace'").Execute(); err != nil {
			return err
		}
		gone = testkit.Write(t, tx, tenant, "grace", event.ContactDeleted)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.FanOut(t, app)
	if err := store.New(app).EraseContacts(t.Context(), []string{"grace"}); err != nil {
		t.Fatal(err)
	}
	if payloads, answers := mentions(); payloads != 2 || answers != 0 {
		t.Errorf("with two events pending: %d payloads, %d answers", payloads, answers)
	}
	run()
	if payloads, answers := mentions(); payloads != 0 || answers != 0 {
		t.Errorf("after all were delivered: %d payloads, %d answers", payloads, answers)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM events WHERE payload LIKE '%grace@example.com%' AND contact = 'other'", nil); n != 1 {
		t.Error("another contact's event was redacted")
	}
	for _, id := range []string{done, pending, gone} {
		var payload struct {
			ID, Type, Timestamp string
			Data                map[string]any
			Erased              bool
		}
		var raw string
		if err := app.DB().NewQuery("SELECT payload FROM events WHERE id = {:id}").Bind(dbx.Params{"id": id}).Row(&raw); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(raw), &payload); err != nil {
			t.Fatal(err)
		}
		if payload.ID != "evt_"+id || payload.Type == "" || payload.Timestamp == "" || len(payload.Data) != 1 || payload.Data["id"] != "grace" || !payload.Erased {
			t.Errorf("got %s", raw)
		}
		if id == done && payload.Timestamp != emitted {
			t.Errorf("the event of %s is of %s once it is erased", emitted, payload.Timestamp)
		}
	}
	if _, err := store.New(app).Redeliver(testkit.DeliveryOf(t, app, done).ID, time.Now()); !errors.Is(err, delivery.ErrErased) {
		t.Errorf("redelivering what was erased: got %v", err)
	}
	if _, err := store.New(app).Redeliver(testkit.DeliveryOf(t, app, gone).ID, time.Now()); err != nil {
		t.Errorf("redelivering the deletion: got %v", err)
	}
}

func TestDeletedWebhookLeavesNothingOfErasedContacts(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	first := testkit.Webhook(t, app, tenant, "https://a.example.com", "")
	second := testkit.Webhook(t, app, tenant, "https://b.example.com", "")
	testkit.AddContact(t, app, tenant, "kept")
	gone := testkit.Emit(t, app, tenant, "gone", event.ContactCreated)
	kept := testkit.Emit(t, app, tenant, "kept", event.ContactCreated)
	erased := func(id string) bool {
		return testkit.Count(t, app, "SELECT count(*) FROM events WHERE id = {:id} AND payload LIKE '%\"erased\":true%' AND payload NOT LIKE '%grace@%'", dbx.Params{"id": id}) == 1
	}
	remove := func(webhook string) {
		t.Helper()
		if err := app.RunInTransaction(func(tx core.App) error { return deleteDeliveries(tx, webhook) }); err != nil {
			t.Fatal(err)
		}
		if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE webhook = {:id}", dbx.Params{"id": webhook}); n != 0 {
			t.Errorf("%d deliveries are left", n)
		}
	}
	remove(first)
	if erased(gone) {
		t.Error("what another webhook is still to get is redacted")
	}
	remove(second)
	if !erased(gone) || erased(kept) {
		t.Errorf("redacted: %v of the contact that is gone, %v of the other", erased(gone), erased(kept))
	}
}

func TestPruneGivesUpWhatNobodyWillBeSent(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	cut := time.Now().Add(-30 * 24 * time.Hour)
	add := func(what string, created, updated time.Time) {
		tenant := testkit.Tenant(t, app, what)
		webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
		id := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
		testkit.Execute(t, app, "UPDATE events SET created = {:at} WHERE id = {:id}", dbx.Params{"id": id, "at": stamp.Stored(created)})
		testkit.Execute(t, app, "UPDATE deliveries SET created = {:created}, updated = {:updated} WHERE event = {:id}",
			dbx.Params{"id": id, "created": stamp.Stored(created), "updated": stamp.Stored(updated)})
		switch what {
		case "featureless":
			testkit.Execute(t, app, "UPDATE tenants SET apiEnabled = 0 WHERE id = {:id}", dbx.Params{"id": tenant})
		case "enabled":
		default:
			testkit.Execute(t, app, "UPDATE webhooks SET disabled = 1 WHERE id = {:id}", dbx.Params{"id": webhook})
		}
	}
	old := cut.Add(-time.Hour)
	for range 3 {
		add("disabled", old, old)
	}
	add("featureless", old, old)
	add("enabled", old, old)
	add("recovered", old, cut.Add(time.Hour)) // lately
	add("young", cut.Add(time.Hour), cut.Add(time.Hour))
	if n, err := store.New(app).Prune(t.Context(), cut); n != 4 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	var left []string
	if err := app.DB().NewQuery("SELECT t.name FROM deliveries d JOIN tenants t ON t.id = d.tenant WHERE d.status = 'pending' ORDER BY t.name").Column(&left); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(left, []string{"enabled", "recovered", "young"}) || testkit.Count(t, app, "SELECT count(*) FROM deliveries", nil) != 3 {
		t.Errorf("pending are %v", left)
	}
}

// What is given up holds nobody up once its webhook is enabled again.
func TestGivenUpLeavesItsLine(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	cut := time.Now().Add(-30 * 24 * time.Hour)
	tenant := testkit.Tenant(t, app, "Acme")
	webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	first := testkit.DeliveryOf(t, app, testkit.Emit(t, app, tenant, "contact1", event.ContactUpdated)).ID
	second := testkit.DeliveryOf(t, app, testkit.Emit(t, app, tenant, "contact1", event.ContactUpdated)).ID
	testkit.Execute(t, app, "UPDATE deliveries SET created = {:at}, updated = {:at} WHERE id = {:id}", dbx.Params{"id": first, "at": stamp.Stored(cut.Add(-time.Hour))})
	testkit.Execute(t, app, "UPDATE webhooks SET disabled = 1 WHERE id = {:id}", dbx.Params{"id": webhook})
	if _, err := store.New(app).Prune(t.Context(), cut); err != nil {
		t.Fatal(err)
	}
	testkit.Execute(t, app, "UPDATE webhooks SET disabled = 0 WHERE id = {:id}", dbx.Params{"id": webhook})
	jobs := fetch(t, app, time.Now())
	if len(jobs) != 1 || jobs[0].DeliveryID != second {
		t.Errorf("fetched %v", jobs)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	cut := time.Now().Add(-30 * 24 * time.Hour)
	add := func(created time.Time, status string) string {
		id := testkit.Emit(t, app, tenant, "", event.ContactUpdated)
		d := testkit.DeliveryOf(t, app, id)
		finish(t, app, d.ID, status, 1)
		testkit.Execute(t, app, "UPDATE events SET created = {:at} WHERE id = {:id}", dbx.Params{"id": id, "at": stamp.Stored(created)})
		testkit.Execute(t, app, "INSERT INTO delivery_attempts (id, delivery, number) VALUES ('a' || substr({:id}, 2), {:id}, 1)", dbx.Params{"id": d.ID})
		return id
	}
	for i := range 7 {
		add(cut.Add(-time.Duration(i)*time.Hour), map[bool]string{true: "delivered", false: "failed"}[i%2 == 0])
		if i%3 == 0 {
			add(cut.Add(-time.Duration(i)*time.Hour), "pending")
		}
	}
	kept := add(cut.Add(time.Hour), "delivered")

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := store.New(app).Prune(cancelled, cut); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d, %v", n, err)
	}
	// cut itself is not before cut
	if n, err := store.New(app).Prune(t.Context(), cut.Add(time.Millisecond)); n != 7 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	for query, want := range map[string]int{
		"SELECT count(*) FROM events":            4,
		"SELECT count(*) FROM deliveries":        4,
		"SELECT count(*) FROM delivery_attempts": 4,
		"SELECT count(*) FROM deliveries d JOIN events e ON e.id = d.event WHERE d.status = 'pending'": 3,
	} {
		if n := testkit.Count(t, app, query, nil); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	testkit.DeliveryOf(t, app, kept)
	if n, err := store.New(app).Prune(t.Context(), cut.Add(time.Millisecond)); n != 0 || err != nil {
		t.Errorf("again: pruned %d, %v", n, err)
	}
}

// deleteDeliveries deletes the deliveries to a webhook, two at a time.
func deleteDeliveries(tx core.App, webhook string) error {
	for {
		found, err := store.DeleteDeliveries(tx, webhook, 2)
		if err != nil || found < 2 {
			return err
		}
	}
}

// What was finished when it was looked up stays where a delivery of it was asked for again in between.
func TestPruneLooksAgain(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	finished, again := testkit.Emit(t, app, tenant, "", event.ContactUpdated), testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	finish(t, app, testkit.DeliveryOf(t, app, finished).ID, "delivered", 1)
	if n, err := store.DeleteEvents(app, finished, again); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if left := testkit.DeliveryOf(t, app, again); left.Status != "pending" {
		t.Errorf("left is %+v", left)
	}
}

// More events than are looked up together go, though all were made at once.
func TestPruneGoesFromPageToPage(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	const n = 5_100
	testkit.Events(t, app, testkit.Tenant(t, app, "Acme"), n, time.Now().Add(-time.Hour))
	testkit.FanOut(t, app)
	if pruned, err := store.New(app).Prune(t.Context(), time.Now()); pruned != n || err != nil {
		t.Errorf("pruned %d, %v", pruned, err)
	}
	if left := testkit.Count(t, app, "SELECT count(*) FROM events", nil); left != 0 {
		t.Errorf("%d are left", left)
	}
}
