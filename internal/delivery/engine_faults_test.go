package delivery_test

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// lockedStore is a store whose first releases fail, because another process holds the database's write lock.
type lockedStore struct {
	delivery.Store
	t       *testing.T
	another *sql.Conn
	failed  atomic.Int64
}

func (s *lockedStore) Release(ctx context.Context, jobs []*delivery.Job) error {
	if len(jobs) == 0 || s.failed.Load() >= 1 {
		return s.Store.Release(ctx, jobs)
	}
	if _, err := s.another.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		s.t.Error(err)
	}
	err := s.Store.Release(ctx, jobs)
	if err != nil {
		s.failed.Add(1)
	}
	if _, err := s.another.ExecContext(ctx, "ROLLBACK"); err != nil {
		s.t.Error(err)
	}
	return err
}

// What waited for an endpoint that failed is delivered although its release failed.
func TestEngineGoesOnAfterAFailedRelease(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
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
	store := &lockedStore{Store: testkit.Deliveries(app), t: t, another: another}

	const n = 60
	var mu sync.Mutex
	arrived, phase := map[string]bool{}, 0 // well, failing, well again
	warm, fail, all := make(chan struct{}), make(chan struct{}), make(chan struct{})
	testkit.Webhook(t, app, tenant, receiver(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if phase == 1 && store.failed.Load() == 0 {
			mu.Unlock()
			<-fail
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		defer mu.Unlock()
		arrived[r.Header.Get("X-Delivery")] = true
		switch len(arrived) {
		case n:
			phase = 1
			close(warm)
		case 2 * n:
			close(all)
		}
	}), "")
	for range n {
		testkit.Write(t, app, tenant, "", event.ContactUpdated)
	}
	start(t, app, delivery.Options{Store: store})
	receive(t, warm)
	for range n {
		testkit.Write(t, app, tenant, "", event.ContactUpdated)
	}
	testkit.Eventually(t, "deliveries that are written while they are claimed", func() bool {
		return testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE leaseUntil != ''", nil) > n/2
	})
	close(fail)
	receive(t, all)
	if store.failed.Load() == 0 {
		t.Error("no release failed")
	}
}
