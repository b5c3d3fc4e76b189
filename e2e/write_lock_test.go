package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// pastBusyTimeout is longer than the server waits for the database's write lock, 10 s.
const pastBusyTimeout = 11500 * time.Millisecond

// Another process holds the database's write lock while attempts to an endpoint are in flight and then fail, until
// the server could not commit their results, while clients write. Everything is delivered without a restart, and a
// tenant can be frozen.
func TestDeliveriesWithoutTheWriteLock(t *testing.T) {
	t.Parallel()
	if os.Getenv(roundsEnv) == "" {
		testenv.Long(t,
			"holds the database for longer than the server waits; the tests of the dispatcher fail its commits at once")
	}
	i := newInstallation(t)
	tenant := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000000"), "id")
	key := str(t, i.one("key", "create", tenant), "key")
	r := newReceiver(t)
	secret := str(t, i.one("webhook", "create", tenant, r.URL), "secret")
	busy := str(t, i.one("key", "create", str(t, i.one("tenant", "create", "Busy", "--rateLimit", "1000000000"), "id")), "key")
	s, db := i.serve(), openData(t, i.data)
	c := s.client(key)
	for range crashRounds(t, 1, 1) {
		r.set(secret, nil)
		createMany(c, 50) // the engine learns how many attempts at a time the endpoint takes
		awaitAllDelivered(t, db)
		idle := keepWriting(s.client(busy))
		arrived, fail := make(chan struct{}, 1000), make(chan struct{})
		r.set(secret, func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-fail
			w.WriteHeader(http.StatusServiceUnavailable) // by which the engine knows that the endpoint takes no more now
		})
		createMany(c, 100)
		<-arrived
		execute(t, db, "BEGIN IMMEDIATE")
		close(fail)
		<-time.After(pastBusyTimeout) // this time itself is what the test is about
		execute(t, db, "ROLLBACK")
		idle()
		r.set(secret, nil)
		hurryAll(t, db)
		awaitAllDelivered(t, db)
		i.within(timeout, "tenant", "freeze", tenant)
		i.must("tenant", "unfreeze", tenant)
	}
	i.within(timeout, "tenant", "export", "Acme", filepath.Join(t.TempDir(), "acme.zip"),
		passphraseFile(t, "a long passphrase"), "--freeze")
	s.stop()
}

// keepWriting makes several clients create contacts, and accepts any response, until the returned function is called.
func keepWriting(c *client) (idle func()) {
	var group sync.WaitGroup
	ended := make(chan struct{})
	for range trafficWorkers {
		group.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					_, _ = c.try(http.MethodPost, contactsPath, `{"name":"Ada"}`)
				}
			}
		})
	}
	return func() {
		close(ended)
		group.Wait()
	}
}

// hurryAll makes all pending deliveries due.
func hurryAll(t *testing.T, db *sql.DB) {
	t.Helper()
	execute(t, db, "UPDATE deliveries SET nextAttempt = created WHERE status = 'pending'")
}

// createMany creates n contacts with one request.
func createMany(c *client, n int) {
	c.t.Helper()
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"action":"create","contact":{"name":"Contact %d"}}`, i)
	}
	c.expect(http.StatusOK, http.MethodPost, contactsPath+"/batch", `{"items":[`+strings.Join(items, ",")+`]}`)
}

// awaitAllDelivered waits until all events have their deliveries, and those are delivered.
func awaitAllDelivered(t *testing.T, db *sql.DB) {
	t.Helper()
	await(t, "the delivery of all events", func() bool {
		return count(t, db, "SELECT (SELECT count(*) FROM events WHERE rowid > "+cursorRow+") + (SELECT count(*) FROM deliveries WHERE status != 'delivered')") == 0
	})
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// within runs a command that must succeed within that time.
func (i *installation) within(limit time.Duration, args ...string) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), limit)
	defer cancel()
	command := i.command(ctx, append(append(args, "--dir="+i.data), i.args...)...)
	if got := finish(i.t, command); got.code != 0 {
		i.t.Fatalf("%v ends with %d after at most %s: %s%s", args, got.code, limit, got.stdout, got.stderr)
	}
}
