package delivery_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/secret"
	"contactbase/internal/testkit"
)

// finish sets the state of a delivery.
func finish(tb testing.TB, app core.App, id, status string, attempts int) {
	tb.Helper()
	execute(tb, app, "UPDATE deliveries SET status = {:status}, attempts = {:attempts}, nextAttempt = '' WHERE id = {:id}",
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
		"pending":   {4, 4}, // goes on with the 5th, only sooner
	} {
		id := deliveryOf(t, app, emit(t, app, tenant, "", event.ContactUpdated)).ID
		finish(t, app, id, status, c.attempts)
		queued, err := delivery.Redeliver(app, id, now)
		if err != nil {
			t.Fatal(err)
		}
		if queued.ID != id || queued.Status != "pending" || queued.Attempts != c.want || !queued.NextAttempt.Equal(now) {
			t.Errorf("%s: got %+v", status, queued)
		}
		jobs, err := delivery.NewSQLiteQueue(app).Claim(t.Context(), delivery.ClaimOptions{Now: now, Lease: time.Minute, Limit: 1, PerEndpoint: 1})
		if err != nil || len(jobs) != 1 || jobs[0].DeliveryID != id || jobs[0].Attempt != c.want+1 {
			t.Errorf("%s: claimed %v, %v", status, jobs, err)
		}
	}
	if _, err := delivery.Redeliver(app, "nothing", now); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
	encoded, err := json.Marshal(&delivery.Delivery{ID: "d1", Status: "pending", Attempts: 2, NextAttempt: time.Date(2026, 3, 4, 16, 20, 11, 0, time.UTC)})
	if err != nil || string(encoded) != `{"id":"d1","status":"pending","attempts":2,"nextAttempt":"2026-03-04T16:20:11.000Z"}` {
		t.Errorf("got %s, %v", encoded, err)
	}
}

func TestRedeliverLeavesAnAttemptInFlightAlone(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	id := deliveryOf(t, app, emit(t, app, tenant, "", event.ContactUpdated)).ID
	queue := delivery.NewSQLiteQueue(app)
	options := delivery.ClaimOptions{Now: time.Now(), Lease: time.Minute, Limit: 9, PerEndpoint: 9}
	if jobs, err := queue.Claim(t.Context(), options); err != nil || len(jobs) != 1 {
		t.Fatalf("claimed %v, %v", jobs, err)
	}
	if _, err := delivery.Redeliver(app, id, time.Now()); err != nil {
		t.Fatal(err)
	}
	if jobs, err := queue.Claim(t.Context(), options); err != nil || len(jobs) != 0 {
		t.Errorf("claimed %v, %v", jobs, err)
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	webhook := testkit.Record(t, app, "webhooks", map[string]any{
		"tenant": tenant, "url": "https://hooks.example.com", "events": []string{"contact.created", "contact.deleted"},
	}).Id
	setDisabled := func(disabled bool) {
		execute(t, app, "UPDATE webhooks SET disabled = {:disabled}", dbx.Params{"disabled": disabled})
	}
	at := func(eventID string, age time.Duration) string {
		params := dbx.Params{"id": eventID, "at": stored(time.Now().Add(-age))}
		execute(t, app, "UPDATE events SET created = {:at} WHERE id = {:id}", params)
		execute(t, app, "UPDATE deliveries SET created = {:at} WHERE event = {:id}", params)
		return eventID
	}
	failed := at(emit(t, app, tenant, "", event.ContactCreated), time.Hour)
	finish(t, app, deliveryOf(t, app, failed).ID, "failed", 10)
	finish(t, app, deliveryOf(t, app, at(emit(t, app, tenant, "", event.ContactCreated), 3*time.Hour)).ID, "failed", 10)
	finish(t, app, deliveryOf(t, app, at(emit(t, app, tenant, "", event.ContactCreated), time.Hour)).ID, "delivered", 1)
	at(emit(t, app, tenant, "", event.ContactCreated), time.Hour) // pending
	setDisabled(true)
	missed := at(emit(t, app, tenant, "", event.ContactCreated), time.Hour)
	at(emit(t, app, tenant, "", event.ContactCreated), 3*time.Hour)
	at(emit(t, app, tenant, "", event.ContactUpdated), time.Hour) // not one of its kinds
	at(emit(t, app, other, "", event.ContactCreated), time.Hour)
	// a contact that was deleted: its update has nothing left to send, its deletion has
	at(emit(t, app, tenant, "erased", event.ContactCreated), time.Hour)
	gone := at(emit(t, app, tenant, "erased", event.ContactDeleted), time.Hour)
	if _, _, err := delivery.EraseContact(app, "erased", 0, 100); err != nil {
		t.Fatal(err)
	}
	setDisabled(false)

	since := time.Now().Add(-2 * time.Hour)
	for what, dryRun := range map[string]bool{"first": true, "again": true} {
		if n, err := delivery.Recover(app, webhook, since, dryRun); n != 3 || err != nil {
			t.Errorf("dry run (%s): %d, %v", what, n, err)
		}
	}
	if n := count(t, app, "SELECT count(*) FROM deliveries WHERE status = 'pending'", nil); n != 1 {
		t.Errorf("after dry runs %d are pending", n)
	}
	if n, err := delivery.Recover(app, webhook, since, false); n != 3 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	for what, id := range map[string]string{"failed": failed, "missed": missed, "deleted": gone} {
		if d := deliveryOf(t, app, id); d.Status != "pending" || d.Attempts != 0 {
			t.Errorf("%s: got %+v", what, d)
		}
	}
	if n := count(t, app, "SELECT count(*) FROM deliveries WHERE nextAttempt = ''  AND status = 'pending'", nil); n != 1 {
		t.Errorf("%d go ahead as a probe", n)
	}
	if n, err := delivery.Recover(app, webhook, since, false); n != 0 || err != nil {
		t.Errorf("again: got %d, %v", n, err)
	}
	if _, err := delivery.Recover(app, "nothing", since, true); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}

func TestRecoverManyInSteps(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	const n = 2500
	execute(t, app, `INSERT INTO events (id, tenant, type, contact, payload, created)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n})
		SELECT printf('e%014d', i), {:tenant}, 'contact.updated', '', '{}', {:now} FROM n`,
		dbx.Params{"n": n, "tenant": tenant, "now": stored(time.Now())})
	webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	got, err := delivery.Recover(app, webhook, time.Now().Add(-time.Hour), false)
	if err != nil || got != n || count(t, app, "SELECT count(*) FROM deliveries", nil) != n {
		t.Errorf("recovered %d, %v", got, err)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	status := http.StatusNoContent
	var received *http.Request
	url := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		received = r
		w.WriteHeader(status)
	})
	webhook := testkit.Record(t, app, "webhooks", map[string]any{"tenant": tenant, "url": url, "disabled": true}).Id
	testkit.Webhook(t, app, tenant, url, "")

	for _, c := range []struct {
		answer int
		want   string
	}{{http.StatusNoContent, "delivered"}, {http.StatusInternalServerError, "failed"}, {http.StatusServiceUnavailable, "failed"}} {
		status = c.answer
		attempt, err := delivery.Ping(t.Context(), app, sender(), webhook)
		if err != nil {
			t.Fatal(err)
		}
		if attempt.Status != c.answer || attempt.Number != 1 || received.Header.Get("X-Event") != "webhook.ping" {
			t.Errorf("got %+v, the receiver %v", attempt, received.Header)
		}
		var found row
		if err := app.DB().NewQuery("SELECT * FROM deliveries WHERE id = {:id}").Bind(dbx.Params{"id": attempt.DeliveryID}).One(&found); err != nil {
			t.Fatal(err)
		}
		if found.Status != c.want || found.Attempts != 1 || found.NextAttempt != "" || found.LeaseUntil != "" {
			t.Errorf("after %d: got %+v", c.answer, found)
		}
	}
	for what, query := range map[string]string{
		"events":     "SELECT count(*) FROM events WHERE type = 'webhook.ping'",
		"deliveries": "SELECT count(*) FROM deliveries",
		"attempts":   "SELECT count(*) FROM delivery_attempts",
	} {
		if n := count(t, app, query, nil); n != 3 {
			t.Errorf("%d %s of 3 pings", n, what)
		}
	}
	if _, err := delivery.Ping(t.Context(), app, sender(), "nothing"); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}

func TestPingOfAnUnreachableEndpoint(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	webhook := testkit.Webhook(t, app, testkit.Tenant(t, app, "Acme"), "http://169.254.169.254/", "")
	attempt, err := delivery.Ping(t.Context(), app, sender(), webhook)
	if err != nil || attempt.Status != 0 || !strings.HasPrefix(attempt.Error, "blocked address") {
		t.Errorf("got %+v, %v", attempt, err)
	}
}

func TestRotateSecret(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	var signature http.Header
	url := receiver(t, func(_ http.ResponseWriter, r *http.Request) { signature = r.Header })
	before := secret.New()
	webhook := testkit.Webhook(t, app, tenant, url, before)
	after, err := delivery.RotateSecret(app, webhook)
	if err != nil {
		t.Fatal(err)
	}
	verifies := func(plain string, body []byte) bool {
		verifier, err := standardwebhooks.NewWebhook(plain)
		if err != nil {
			t.Fatal(err)
		}
		return verifier.VerifyIgnoringTimestamp(body, signature) == nil
	}
	body := func(attempt *delivery.Attempt) []byte {
		var payload string
		err := app.DB().NewQuery("SELECT e.payload FROM deliveries d JOIN events e ON e.id = d.event WHERE d.id = {:id}").
			Bind(dbx.Params{"id": attempt.DeliveryID}).Row(&payload)
		if err != nil {
			t.Fatal(err)
		}
		return []byte(payload)
	}
	ping := func() []byte {
		attempt, err := delivery.Ping(t.Context(), app, sender(), webhook)
		if err != nil {
			t.Fatal(err)
		}
		return body(attempt)
	}

	sent := ping()
	if !verifies(before, sent) || !verifies(after, sent) {
		t.Error("both secrets should sign after a rotation")
	}
	if signature.Get("X-Signature") != delivery.Sign(after, sent) {
		t.Error("X-Signature should use the new secret")
	}
	execute(t, app, "UPDATE webhooks SET previousSecretUntil = {:at}", dbx.Params{"at": stored(time.Now().Add(-time.Second))})
	sent = ping()
	if verifies(before, sent) || !verifies(after, sent) {
		t.Error("the old secret should not sign after its time")
	}
	if _, err := delivery.RotateSecret(app, "nothing"); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}

// A delivery that an admin deletes does not keep the next one of its contact waiting.
func TestDeletedDeliveryLeavesItsLine(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	first := deliveryOf(t, app, emit(t, app, tenant, "contact1", event.ContactUpdated)).ID
	second := deliveryOf(t, app, emit(t, app, tenant, "contact1", event.ContactUpdated)).ID
	record, err := app.FindRecordById("deliveries", first)
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Delete(record); err != nil {
		t.Fatal(err)
	}
	jobs, err := delivery.NewSQLiteQueue(app).Claim(t.Context(), delivery.ClaimOptions{Now: time.Now(), Lease: time.Minute, Limit: 9, PerEndpoint: 9})
	if err != nil || len(jobs) != 1 || jobs[0].DeliveryID != second {
		t.Errorf("claimed %v, %v", jobs, err)
	}
}
