package delivery_test

import (
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/delivery"
	"contactbase/internal/testkit"
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
