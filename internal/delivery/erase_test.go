package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// addContact stores a contact without any hook.
func addContact(tb testing.TB, app core.App, tenant, id string) {
	tb.Helper()
	execute(tb, app, "INSERT INTO contacts (id, tenant, name, created, updated) VALUES ({:id}, {:tenant}, 'Grace', {:at}, {:at})",
		dbx.Params{"id": id, "tenant": tenant, "at": stored(time.Now())})
}

func TestEraseContact(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	url := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Echo", "grace@example.com")
		_, _ = w.Write([]byte("hello grace@example.com"))
	})
	testkit.Webhook(t, app, tenant, url, "")
	addContact(t, app, tenant, "grace")
	addContact(t, app, tenant, "other")
	engine := delivery.NewEngine(app, delivery.Options{Sender: sender()})
	run := func() {
		t.Helper()
		for made := 1; made > 0; {
			var err error
			if made, err = engine.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	mentions := func() (payloads, answers int) {
		return count(t, app, "SELECT count(*) FROM events WHERE payload LIKE '%grace@example.com%' AND contact = 'grace'", nil),
			count(t, app, "SELECT count(*) FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery JOIN events e ON e.id = d.event "+
				"WHERE (a.responseBody || a.responseHeaders) LIKE '%grace@example.com%' AND e.contact = 'grace'", nil)
	}
	done := emit(t, app, tenant, "grace", event.ContactCreated)
	emit(t, app, tenant, "other", event.ContactCreated)
	run()
	pending := emit(t, app, tenant, "grace", event.ContactUpdated)
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
		gone = emit(t, tx, tenant, "grace", event.ContactDeleted)
		_, _, err := delivery.EraseContact(tx, "grace", 0, 100)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if payloads, answers := mentions(); payloads != 2 || answers != 0 {
		t.Errorf("with two events pending: %d payloads, %d answers", payloads, answers)
	}
	run()
	if payloads, answers := mentions(); payloads != 0 || answers != 0 {
		t.Errorf("after all were delivered: %d payloads, %d answers", payloads, answers)
	}
	if n := count(t, app, "SELECT count(*) FROM events WHERE payload LIKE '%grace@example.com%' AND contact = 'other'", nil); n != 1 {
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
	if _, err := delivery.Redeliver(app, deliveryOf(t, app, done).ID, time.Now()); !errors.Is(err, delivery.ErrErased) {
		t.Errorf("redelivering what was erased: got %v", err)
	}
	if _, err := delivery.Redeliver(app, deliveryOf(t, app, gone).ID, time.Now()); err != nil {
		t.Errorf("redelivering the deletion: got %v", err)
	}
	if _, found, err := delivery.EraseContact(app, "", 0, 100); found != 0 || err != nil {
		t.Errorf("%d events of nobody, %v", found, err)
	}
}

func TestDeletedWebhookLeavesNothingOfErasedContacts(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	first := testkit.Webhook(t, app, tenant, "https://a.example.com", "")
	second := testkit.Webhook(t, app, tenant, "https://b.example.com", "")
	addContact(t, app, tenant, "kept")
	gone := emit(t, app, tenant, "gone", event.ContactCreated)
	kept := emit(t, app, tenant, "kept", event.ContactCreated)
	erased := func(id string) bool {
		return count(t, app, "SELECT count(*) FROM events WHERE id = {:id} AND payload LIKE '%\"erased\":true%' AND payload NOT LIKE '%grace@%'", dbx.Params{"id": id}) == 1
	}
	remove := func(webhook string) {
		t.Helper()
		if err := app.RunInTransaction(func(tx core.App) error { return deleteDeliveries(tx, webhook) }); err != nil {
			t.Fatal(err)
		}
		if n := count(t, app, "SELECT count(*) FROM deliveries WHERE webhook = {:id}", dbx.Params{"id": webhook}); n != 0 {
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
		id := emit(t, app, tenant, "", event.ContactUpdated)
		execute(t, app, "UPDATE events SET created = {:at} WHERE id = {:id}", dbx.Params{"id": id, "at": stored(created)})
		execute(t, app, "UPDATE deliveries SET created = {:created}, updated = {:updated} WHERE event = {:id}",
			dbx.Params{"id": id, "created": stored(created), "updated": stored(updated)})
		switch what {
		case "featureless":
			execute(t, app, "UPDATE tenants SET apiEnabled = 0 WHERE id = {:id}", dbx.Params{"id": tenant})
		case "enabled":
		default:
			execute(t, app, "UPDATE webhooks SET disabled = 1 WHERE id = {:id}", dbx.Params{"id": webhook})
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
	if n, err := delivery.Prune(t.Context(), app, cut); n != 4 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	var left []string
	if err := app.DB().NewQuery("SELECT t.name FROM deliveries d JOIN tenants t ON t.id = d.tenant WHERE d.status = 'pending' ORDER BY t.name").Column(&left); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(left, []string{"enabled", "recovered", "young"}) || count(t, app, "SELECT count(*) FROM deliveries", nil) != 3 {
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
	first := deliveryOf(t, app, emit(t, app, tenant, "contact1", event.ContactUpdated)).ID
	second := deliveryOf(t, app, emit(t, app, tenant, "contact1", event.ContactUpdated)).ID
	execute(t, app, "UPDATE deliveries SET created = {:at}, updated = {:at} WHERE id = {:id}", dbx.Params{"id": first, "at": stored(cut.Add(-time.Hour))})
	execute(t, app, "UPDATE webhooks SET disabled = 1 WHERE id = {:id}", dbx.Params{"id": webhook})
	if _, err := delivery.Prune(t.Context(), app, cut); err != nil {
		t.Fatal(err)
	}
	execute(t, app, "UPDATE webhooks SET disabled = 0 WHERE id = {:id}", dbx.Params{"id": webhook})
	jobs, err := delivery.NewSQLiteQueue(app).Claim(t.Context(), delivery.ClaimOptions{Now: time.Now(), Lease: time.Minute, Limit: 9, PerEndpoint: 9})
	if err != nil || len(jobs) != 1 || jobs[0].DeliveryID != second {
		t.Errorf("claimed %v, %v", jobs, err)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	cut := time.Now().Add(-30 * 24 * time.Hour)
	add := func(created time.Time, status string) string {
		id := emit(t, app, tenant, "", event.ContactUpdated)
		d := deliveryOf(t, app, id)
		finish(t, app, d.ID, status, 1)
		execute(t, app, "UPDATE events SET created = {:at} WHERE id = {:id}", dbx.Params{"id": id, "at": stored(created)})
		execute(t, app, "INSERT INTO delivery_attempts (id, delivery, number) VALUES ('a' || substr({:id}, 2), {:id}, 1)", dbx.Params{"id": d.ID})
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
	if n, err := delivery.Prune(cancelled, app, cut); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d, %v", n, err)
	}
	// cut itself is not before cut
	if n, err := delivery.Prune(t.Context(), app, cut.Add(time.Millisecond)); n != 7 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	for query, want := range map[string]int{
		"SELECT count(*) FROM events":            4,
		"SELECT count(*) FROM deliveries":        4,
		"SELECT count(*) FROM delivery_attempts": 4,
		"SELECT count(*) FROM deliveries d JOIN events e ON e.id = d.event WHERE d.status = 'pending'": 3,
	} {
		if n := count(t, app, query, nil); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	deliveryOf(t, app, kept)
	if n, err := delivery.Prune(t.Context(), app, cut.Add(time.Millisecond)); n != 0 || err != nil {
		t.Errorf("again: pruned %d, %v", n, err)
	}
}

// deleteDeliveries deletes the deliveries to a webhook, two at a time.
func deleteDeliveries(tx core.App, webhook string) error {
	for {
		found, err := delivery.DeleteDeliveries(tx, webhook, 2)
		if err != nil || found < 2 {
			return err
		}
	}
}
