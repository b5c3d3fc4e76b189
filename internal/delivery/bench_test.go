package delivery_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/delivery"
	"contactbase/internal/secret"
	"contactbase/internal/testkit"
)

// BenchmarkEngine measures the delivery of a backlog to fast receivers on this machine, everything included: claiming,
// signing, HTTP on both sides, and storing each attempt.
func BenchmarkEngine(b *testing.B) {
	for _, endpoints := range []int{1, 10, 200} {
		b.Run(fmt.Sprintf("endpoints=%d", endpoints), func(b *testing.B) {
			app := testkit.NewApp(b)
			arrived := make(chan struct{})
			var n atomic.Int64
			url := receiver(b, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusNoContent)
				if n.Add(1) == int64(b.N) {
					close(arrived)
				}
			})
			tenant := testkit.Tenant(b, app, "Acme")
			webhooks := make([]string, endpoints)
			for i := range webhooks {
				webhooks[i] = testkit.Webhook(b, app, tenant, url, secret.New())
			}
			encoded, err := json.Marshal(webhooks)
			if err != nil {
				b.Fatal(err)
			}
			now := time.Now().UTC().Format("2006-01-02 15:04:05.000Z")
			testkit.Execute(b, app, `INSERT INTO events (id, tenant, type, contact, payload, created)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n})
				SELECT printf('e%014d', i), {:tenant}, 'contact.updated', 'c' || i,
					'{"id":"evt_e","type":"contact.updated","timestamp":"2026-01-31T12:00:00.000Z","data":{"id":"c","name":"Grace Hopper","email":"grace@example.com","phone":null,"company":"Navy","externalId":null,"createdAt":"2026-01-31T12:00:00.000Z","updatedAt":"2026-01-31T12:00:00.000Z"},"previous":{"company":"Yale"}}',
					{:now} FROM n`, dbx.Params{"n": b.N, "tenant": tenant, "now": now})
			testkit.Execute(b, app, "INSERT INTO contacts (id, tenant, name, created, updated) SELECT contact, tenant, 'Grace', created, created FROM events", nil)
			testkit.Execute(b, app, `INSERT INTO deliveries (id, event, webhook, tenant, status, attempts, nextAttempt, lastStatus, lastError, created, updated, contact)
				SELECT 'd' || substr(e.id, 2), e.id, json_extract({:webhooks}, '$[' || (e.rowid % {:endpoints}) || ']'), e.tenant, 'pending', 0, {:now}, 0, '', {:now}, {:now}, e.contact
				FROM events e`, dbx.Params{"webhooks": string(encoded), "endpoints": endpoints, "now": now})
			testkit.Execute(b, app, "UPDATE _fanOutCursor SET event = (SELECT id FROM events ORDER BY rowid DESC LIMIT 1)", nil)
			engine := delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender()})
			b.ResetTimer()
			engine.Start()
			<-arrived
			if err := engine.Stop(deadline(b)); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
			if left := testkit.Count(b, app, "SELECT count(*) FROM deliveries WHERE status != 'delivered'", nil); left != 0 {
				b.Errorf("%d deliveries are not over", left)
			}
		})
	}
}
