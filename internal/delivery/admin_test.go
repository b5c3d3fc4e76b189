package delivery_test

import (
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"contactbase/internal/delivery"
	"contactbase/internal/secret"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
	"contactbase/internal/webhook"
)

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
		attempt, err := delivery.Ping(t.Context(), testkit.Deliveries(app), sender(), webhook)
		if err != nil {
			t.Fatal(err)
		}
		if attempt.Status != c.answer || attempt.Number != 1 || received.Header.Get("X-Event") != "webhook.ping" {
			t.Errorf("got %+v, the receiver %v", attempt, received.Header)
		}
		var found testkit.Delivery
		if err := app.DB().NewQuery("SELECT * FROM deliveries WHERE id = {:id}").Bind(dbx.Params{"id": attempt.DeliveryID}).One(&found); err != nil {
			t.Fatal(err)
		}
		if found.Status != c.want || found.Attempts != 1 || found.NextAttempt != "" {
			t.Errorf("after %d: got %+v", c.answer, found)
		}
	}
	for what, query := range map[string]string{
		"events":     "SELECT count(*) FROM events WHERE type = 'webhook.ping'",
		"deliveries": "SELECT count(*) FROM deliveries",
		"attempts":   "SELECT count(*) FROM delivery_attempts",
	} {
		if n := testkit.Count(t, app, query, nil); n != 3 {
			t.Errorf("%d %s of 3 pings", n, what)
		}
	}
	if _, err := delivery.Ping(t.Context(), testkit.Deliveries(app), sender(), "nothing"); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}

func TestPingOfAnUnreachableEndpoint(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	webhook := testkit.Webhook(t, app, testkit.Tenant(t, app, "Acme"), "http://169.254.169.254/", "")
	attempt, err := delivery.Ping(t.Context(), testkit.Deliveries(app), sender(), webhook)
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
	id := testkit.Webhook(t, app, tenant, url, before)
	after, err := webhook.RotateSecret(app, id)
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
		attempt, err := delivery.Ping(t.Context(), testkit.Deliveries(app), sender(), id)
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
	testkit.Execute(t, app, "UPDATE webhooks SET previousSecretUntil = {:at}", dbx.Params{"at": stamp.Stored(time.Now().Add(-time.Second))})
	sent = ping()
	if verifies(before, sent) || !verifies(after, sent) {
		t.Error("the old secret should not sign after its time")
	}
	if _, err := webhook.RotateSecret(app, "nothing"); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}
