package retention_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/contact"
	"contactbase/internal/testenv"
	"contactbase/internal/testkit"
)

// Tenants are deleted while contacts are written to them and their webhooks receive. Once the sweeper is done, no row
// is without its owner.
func TestDeletionUnderLoad(t *testing.T) {
	t.Parallel()
	app := testkit.NewDeliveringApp(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	await := func(condition func() bool) {
		t.Helper()
		for !condition() && t.Context().Err() == nil {
			time.Sleep(2 * time.Millisecond)
		}
	}
	for range testenv.Count(1, 5) {
		var writers sync.WaitGroup
		written := [12]atomic.Int64{}
		ids := [12]string{}
		for i := range ids {
			ids[i] = testkit.Tenant(t, app, fmt.Sprint("Gone ", i))
			testkit.Webhook(t, app, ids[i], receiver.URL, "a long secret")
			writers.Go(func() {
				for {
					_, err := testkit.Create(app, ids[i], contact.Changes{"name": "Ada"})
					if errors.Is(err, contact.ErrNoTenant) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					written[i].Add(1)
				}
			})
		}
		for i, id := range ids {
			await(func() bool { return written[i].Load() >= 20 })
			if err := remove(t, app, "tenants", id); err != nil {
				t.Fatal(err)
			}
		}
		writers.Wait()
		await(func() bool { return count(t, app, "SELECT count(*) FROM _deletions", nil) == 0 })

		// the engine stores results in the order in which they come: this one is the last
		last := testkit.Tenant(t, app, "Last")
		testkit.Webhook(t, app, last, receiver.URL, "a long secret")
		if _, err := testkit.Create(app, last, contact.Changes{"name": "Ada"}); err != nil {
			t.Fatal(err)
		}
		await(func() bool {
			return count(t, app, "SELECT count(*) FROM deliveries WHERE status = 'delivered' AND tenant = {:tenant}",
				dbx.Params{"tenant": last}) == 1
		})
		if left := ownerless(t, app); left != "" {
			t.Errorf("rows without an owner:\n%s", left)
		}
	}
}
