package store_test

import (
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// However many attempts a delivery has, because somebody sends it again and again, a chunk deletes a
// limited number, and the job comes to its end.
func TestChunksOfManyAttempts(t *testing.T) {
	t.Parallel()
	const attempts = 3*store.AttemptsAtOnce + 1
	for what, job := range map[string]struct {
		chunk func(tx core.App, event, webhook string) (int, error)
		whole func(app core.App, webhook string) error
	}{
		"prune": {
			func(tx core.App, event, _ string) (int, error) { return store.DeleteEvents(tx, event) },
			func(app core.App, _ string) error {
				_, err := store.New(app).Prune(t.Context(), time.Now().Add(time.Hour))
				return err
			},
		},
		"delete a webhook": {
			func(tx core.App, _, webhook string) (int, error) { return store.DeleteDeliveries(tx, webhook, 16) },
			func(app core.App, webhook string) error {
				return sqlite.InChunks(t.Context(), app, func(tx core.App, limit int) (int, error) {
					return store.DeleteDeliveries(tx, webhook, limit)
				})
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			tenant := testkit.Tenant(t, app, "Acme")
			webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
			var id string
			fill := func() {
				id = testkit.Emit(t, app, tenant, "ada", event.ContactUpdated)
				sent := testkit.DeliveryOf(t, app, id).ID
				testkit.Execute(t, app, "UPDATE deliveries SET status = 'failed'", nil)
				testkit.Execute(t, app, `INSERT INTO delivery_attempts
					(id, delivery, number, started, durationMs, status, error, requestHeaders, responseHeaders, responseBody)
					WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n})
					SELECT lower(hex(randomblob(7))) || 'x', {:delivery}, i, {:at}, 1, 500, '', '{}', '{}', 'large' FROM n`,
					dbx.Params{"n": attempts, "delivery": sent, "at": stamp.Stored(time.Now())})
			}
			left := func() int {
				return testkit.Count(t, app, "SELECT count(*) FROM delivery_attempts WHERE responseBody != ''", nil)
			}
			fill()
			chunks := 0
			for before := left(); before > 0 && chunks < attempts; chunks++ {
				if _, err := job.chunk(app, id, webhook); err != nil {
					t.Fatal(err)
				}
				now := left()
				if before-now > store.AttemptsAtOnce {
					t.Fatalf("chunk %d changes %d attempts", chunks, before-now)
				}
				before = now
			}
			if chunks != 4 {
				t.Errorf("%d attempts take %d chunks", attempts, chunks)
			}
			fill()
			if err := job.whole(app, webhook); err != nil || left() != 0 {
				t.Errorf("%d attempts are left (%v)", left(), err)
			}
		})
	}
}
