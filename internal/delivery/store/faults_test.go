package store_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// claimAt claims up to limit deliveries in memory, as the engine does, and returns them with the ids of their events.
func claimAt(t *testing.T, queue delivery.Queue, now time.Time, limit int) (jobs []*delivery.Job, events []string) {
	t.Helper()
	jobs, err := queue.Claim(t.Context(), delivery.ClaimOptions{
		Now: now, Lease: delivery.Lease, Exclusive: true, Unplaced: true, Limit: limit, PerEndpoint: limit,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		events = append(events, job.EventID)
	}
	return jobs, events
}

// A release whose write fails, because another process holds the write lock, still ends the claims. Nothing else would: claims in
// memory never expire.
func TestReleaseWithoutTheWriteLock(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	first := testkit.Write(t, app, tenant, "contact1", event.ContactUpdated)
	queue, now := store.New(app), time.Now()
	jobs, events := claimAt(t, queue, now, 5)
	if len(events) != 1 || events[0] != first {
		t.Fatalf("claimed %v instead of %s", events, first)
	}
	if _, err := queue.Place(t.Context(), now, 0); err != nil { // it is written as claimed
		t.Fatal(err)
	}
	second := testkit.Write(t, app, tenant, "contact1", event.ContactUpdated)
	other := testkit.Write(t, app, tenant, "contact2", event.ContactUpdated)

	db, err := sql.Open("sqlite", filepath.Join(app.DataDir(), "data.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	another, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer another.Close()
	if _, err := another.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := queue.Release(t.Context(), jobs); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("without the write lock the release ends with %v", err)
	}
	if _, err := another.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}

	again, events := claimAt(t, queue, now.Add(delivery.Lease), 5)
	if !slices.Equal(events, []string{first, other}) {
		t.Fatalf("after the release %v are claimed instead of %s and %s; %s comes later", events, first, other, second)
	}
	for _, job := range again {
		result := delivery.Result{
			Job: job, Attempt: &delivery.Attempt{DeliveryID: job.DeliveryID, Number: 1, Started: now, Status: 200},
			Decision: delivery.Decision{Status: delivery.StatusDelivered},
		}
		if err := queue.Complete(t.Context(), []delivery.Result{result}, now); err != nil {
			t.Fatal(err)
		}
	}
	if _, events := claimAt(t, queue, now.Add(delivery.Lease+time.Second), 5); len(events) != 1 || events[0] != second {
		t.Errorf("behind it %v are claimed instead of %s", events, second)
	}
}

// A claim that fails after it chose events passes over none of them: the next one starts with the same, so that a later event of a
// contact does not overtake an earlier one.
func TestClaimAfterAFailedClaim(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	first := testkit.Write(t, app, tenant, "contact1", event.ContactUpdated)
	queue := store.New(app)
	testkit.Execute(t, app, "ALTER TABLE webhooks RENAME COLUMN previousSecret TO hiddenSecret", nil)
	options := delivery.ClaimOptions{Now: time.Now(), Lease: delivery.Lease, Exclusive: true, Unplaced: true, Limit: 5, PerEndpoint: 5}
	if jobs, err := queue.Claim(t.Context(), options); err == nil {
		t.Fatalf("claimed %v without reading the endpoint", jobs)
	}
	testkit.Execute(t, app, "ALTER TABLE webhooks RENAME COLUMN hiddenSecret TO previousSecret", nil)
	testkit.Write(t, app, tenant, "contact1", event.ContactUpdated)
	if _, events := claimAt(t, queue, time.Now(), 5); len(events) != 1 || events[0] != first {
		t.Errorf("claimed %v instead of %s", events, first)
	}
}
