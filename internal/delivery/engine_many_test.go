package delivery_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/secret"
	"contactbase/internal/testkit"
)

// copyWebhook adds n copies of a webhook.
func copyWebhook(t *testing.T, app core.App, id string, n int) {
	t.Helper()
	testkit.Execute(t, app, `INSERT INTO webhooks (id, tenant, url, secret, created, updated)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n})
		SELECT printf('copy%011d', i), tenant, url, secret, created, updated FROM n CROSS JOIN webhooks w WHERE w.id = {:id}`, dbx.Params{"id": id, "n": n})
}

// An event of many webhooks goes out to all of them, once, in the order of the contact's events, and though the
// process is killed meanwhile.
func TestEngineFansOutToMany(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(crashDirEnv); dir != "" {
		sendUntilKilled(t, dir)
	}
	const webhooks = 600
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.AddContact(t, app, tenant, "ada")
	var mu sync.Mutex
	got := map[string]bool{} // deliveries
	first, all := make(chan struct{}), make(chan struct{})
	url := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		if len(got) == 0 {
			close(first)
		}
		before := len(got)
		got[r.Header.Get("X-Delivery")] = true
		if before < 2*webhooks && len(got) == 2*webhooks {
			close(all)
		}
	})
	copyWebhook(t, app, testkit.Webhook(t, app, tenant, url, secret.New()), webhooks-1)
	events := []string{testkit.Write(t, app, tenant, "ada", event.ContactUpdated), testkit.Write(t, app, tenant, "ada", event.ContactUpdated)}

	doomed := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEngineFansOutToMany$")
	doomed.Env = append(os.Environ(), crashDirEnv+"="+app.DataDir())
	if err := doomed.Start(); err != nil {
		t.Fatal(err)
	}
	receive(t, first)
	if err := doomed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = doomed.Wait()
	_, stop := start(t, app, delivery.Options{})
	receive(t, all)
	stop()
	for _, e := range events {
		for query, want := range map[string]int{
			"SELECT count(*) FROM deliveries WHERE event = {:event} AND status = 'delivered'": webhooks,
			"SELECT count(DISTINCT webhook) FROM deliveries WHERE event = {:event}":           webhooks,
			"SELECT count(*) FROM deliveries WHERE event = {:event}":                          webhooks,
		} {
			if n := testkit.Count(t, app, query, dbx.Params{"event": e}); n != want {
				t.Errorf("%s: %d", query, n)
			}
		}
	}
	n := testkit.Count(t, app, "SELECT count(*) FROM deliveries a JOIN deliveries b ON b.webhook = a.webhook AND a.event = {:first} AND b.event = {:second} "+
		"JOIN delivery_attempts one ON one.delivery = a.id JOIN delivery_attempts two ON two.delivery = b.id WHERE one.started > two.started",
		dbx.Params{"first": events[0], "second": events[1]})
	if n != 0 {
		t.Errorf("%d webhooks got the second event first", n)
	}
}

// While an event is sent to the many webhooks of a tenant, which do not answer, another tenant's event is sent.
func TestEngineSendsBesideMany(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	large, small := testkit.Tenant(t, app, "Large"), testkit.Tenant(t, app, "Small")
	arrived, answer := make(chan string, 1), make(chan struct{})
	url := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/small" {
			arrived <- r.URL.Path
			return
		}
		<-answer
	})
	copyWebhook(t, app, testkit.Webhook(t, app, large, url+"/large", secret.New()), 2_000)
	testkit.Webhook(t, app, small, url+"/small", secret.New())
	testkit.Write(t, app, large, "ada", event.ContactUpdated)
	testkit.Write(t, app, small, "bob", event.ContactUpdated)
	start(t, app, delivery.Options{})
	defer close(answer)
	receive(t, arrived)
}
