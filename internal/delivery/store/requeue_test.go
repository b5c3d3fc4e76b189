package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
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

// finish sets the state of a delivery.
func finish(tb testing.TB, app core.App, id, status string, attempts int) {
	tb.Helper()
	testkit.Execute(tb, app, "UPDATE deliveries SET status = {:status}, attempts = {:attempts}, nextAttempt = '' WHERE id = {:id}",
		dbx.Params{"id": id, "status": status, "attempts": attempts})
}

func TestRedeliver(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	now := time.Now().Truncate(time.Millisecond)
	for status, c := range map[string]struct{ attempts, want int }{
		"delivered": {1, 0},
		"failed":    {10, 0},
		"pending":   {4, 4}, // continues with the 5th, only sooner
	} {
		id := testkit.DeliveryOf(t, app, testkit.Emit(t, app, tenant, "", event.ContactUpdated)).ID
		finish(t, app, id, status, c.attempts)
		queued, err := store.New(app).Redeliver(id, now)
		if err != nil {
			t.Fatal(err)
		}
		if queued.ID != id || queued.Status != "pending" || queued.Attempts != c.want || !queued.NextAttempt.Equal(now) {
			t.Errorf("%s: got %+v", status, queued)
		}
		jobs := fetch(t, app, now)
		if !slices.ContainsFunc(jobs, func(job *delivery.Job) bool { return job.DeliveryID == id && job.Attempt == c.want+1 }) {
			t.Errorf("%s: fetched %v", status, jobs)
		}
	}
	if _, err := store.New(app).Redeliver("nothing", now); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
	encoded, err := json.Marshal(&delivery.Delivery{ID: "d1", Status: "pending", Attempts: 2, NextAttempt: stamp.Time{Time: time.Date(2026, 3, 4, 16, 20, 11, 0, time.UTC)}})
	if err != nil || string(encoded) != `{"id":"d1","status":"pending","attempts":2,"nextAttempt":"2026-03-04T16:20:11.000Z"}` {
		t.Errorf("got %s, %v", encoded, err)
	}
}

// fetch reads what is due.
func fetch(t *testing.T, app core.App, now time.Time) []*delivery.Job {
	t.Helper()
	queue := store.New(app)
	agenda, err := queue.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	due := map[string]int{}
	for _, d := range agenda.Due {
		due[d.Webhook] = 9
	}
	jobs, err := queue.Fetch(t.Context(), delivery.Fetch{Now: now, Limits: due})
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func TestRecover(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	webhook := testkit.Record(t, app, "webhooks", map[string]any{
		"tenant": tenant, "url": "https://hooks.example.com", "events": []string{"contact.created", "contact.deleted"},
	}).Id
	setDisabled := func(disabled bool) {
		testkit.Execute(t, app, "UPDATE webhooks SET disabled = {:disabled}", dbx.Params{"disabled": disabled})
	}
	at := func(eventID string, age time.Duration) string {
		params := dbx.Params{"id": eventID, "at": stamp.Stored(time.Now().Add(-age))}
		testkit.Execute(t, app, "UPDATE events SET created = {:at} WHERE id = {:id}", params)
		testkit.Execute(t, app, "UPDATE deliveries SET created = {:at} WHERE event = {:id}", params)
		return eventID
	}
	failed := at(testkit.Emit(t, app, tenant, "", event.ContactCreated), time.Hour)
	finish(t, app, testkit.DeliveryOf(t, app, failed).ID, "failed", 10)
	finish(t, app, testkit.DeliveryOf(t, app, at(testkit.Emit(t, app, tenant, "", event.ContactCreated), 3*time.Hour)).ID, "failed", 10)
	finish(t, app, testkit.DeliveryOf(t, app, at(testkit.Emit(t, app, tenant, "", event.ContactCreated), time.Hour)).ID, "delivered", 1)
	at(testkit.Emit(t, app, tenant, "", event.ContactCreated), time.Hour) // pending
	setDisabled(true)
	missed := at(testkit.Emit(t, app, tenant, "", event.ContactCreated), time.Hour)
	at(testkit.Emit(t, app, tenant, "", event.ContactCreated), 3*time.Hour)
	at(testkit.Emit(t, app, tenant, "", event.ContactUpdated), time.Hour) // not one of its kinds
	at(testkit.Emit(t, app, other, "", event.ContactCreated), time.Hour)
	// a contact that was deleted: its update has nothing left to send, its deletion has
	at(testkit.Emit(t, app, tenant, "erased", event.ContactCreated), time.Hour)
	gone := at(testkit.Emit(t, app, tenant, "erased", event.ContactDeleted), time.Hour)
	if err := store.New(app).EraseContacts(t.Context(), []string{"erased"}); err != nil {
		t.Fatal(err)
	}
	setDisabled(false)

	since := time.Now().Add(-2 * time.Hour)
	for what, dryRun := range map[string]bool{"first": true, "again": true} {
		if n, err := store.New(app).Recover(t.Context(), webhook, delivery.Recovery{Since: since, Before: true, DryRun: dryRun}); n.Count != 3 || err != nil {
			t.Errorf("dry run (%s): %v, %v", what, n, err)
		}
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE status = 'pending'", nil); n != 1 {
		t.Errorf("after dry runs %d are pending", n)
	}
	if n, err := store.New(app).Recover(t.Context(), webhook, delivery.Recovery{Since: since, Before: true}); n.Count != 3 || err != nil {
		t.Errorf("got %v, %v", n, err)
	}
	for what, id := range map[string]string{"failed": failed, "missed": missed, "deleted": gone} {
		if d := testkit.DeliveryOf(t, app, id); d.Status != "pending" || d.Attempts != 0 {
			t.Errorf("%s: got %+v", what, d)
		}
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE nextAttempt = ''  AND status = 'pending'", nil); n != 1 {
		t.Errorf("%d go ahead as a probe", n)
	}
	if n, err := store.New(app).Recover(t.Context(), webhook, delivery.Recovery{Since: since, Before: true}); n.Count != 0 || err != nil {
		t.Errorf("again: got %v, %v", n, err)
	}
	if _, err := store.New(app).Recover(t.Context(), "nothing", delivery.Recovery{Since: since, DryRun: true}); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}

func TestRecoverManyInSteps(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	const n = 2500
	testkit.Events(t, app, tenant, n, time.Now())
	webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	got, err := store.New(app).Recover(t.Context(), webhook, delivery.Recovery{Since: time.Now().Add(-time.Hour), Before: true})
	if err != nil || got.Count != n || testkit.Count(t, app, "SELECT count(*) FROM deliveries", nil) != n {
		t.Errorf("recovered %+v, %v", got, err)
	}
}

// A delivery that an admin deletes does not keep the next one of its contact waiting.
func TestDeletedDeliveryLeavesItsLine(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	first := testkit.DeliveryOf(t, app, testkit.Emit(t, app, tenant, "contact1", event.ContactUpdated)).ID
	second := testkit.DeliveryOf(t, app, testkit.Emit(t, app, tenant, "contact1", event.ContactUpdated)).ID
	record, err := app.FindRecordById("deliveries", first)
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Delete(record); err != nil {
		t.Fatal(err)
	}
	jobs := fetch(t, app, time.Now())
	if len(jobs) != 1 || jobs[0].DeliveryID != second {
		t.Errorf("fetched %v", jobs)
	}
}
