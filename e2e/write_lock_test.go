package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pastBusyTimeout is longer than the server waits for the database's write lock, which is 10 s.
const pastBusyTimeout = 11500 * time.Millisecond

// Another process takes the database's write lock after the engine has stored the results of an endpoint that fails and before it
// releases the deliveries that waited for that endpoint, and keeps the lock until the release has failed. Everything is
// delivered without a restart, and a tenant can be frozen.
func TestDeliveriesWithoutTheWriteLock(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	tenant := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000000"), "id")
	key := str(t, i.one("key", "create", tenant), "key")
	r := newReceiver(t)
	secret := str(t, i.one("webhook", "create", tenant, r.URL), "secret")
	busy := str(t, i.one("key", "create", str(t, i.one("tenant", "create", "Busy", "--rateLimit", "1000000000"), "id")), "key")
	s, db := i.serve(), openData(t, i.data)
	c := s.client(key)
	rounds, tries := crashRounds(t, 1), 0
	for round := range rounds {
		for isHeld := false; !isHeld; {
			tries++
			r.set(secret, nil)
			hurryAll(t, db)
			createMany(c, 50) // the engine learns how many attempts at a time the endpoint takes
			awaitAllDelivered(t, db)
			idle := keepWriting(s.client(busy)) // the release waits for the writer behind other writes, which leaves time to take the lock
			if isHeld = lockBeforeRelease(t, db, c, r, secret); isHeld {
				<-time.After(pastBusyTimeout) // this time itself is what the test is about
				execute(t, db, "ROLLBACK")
			}
			idle()
		}
		r.set(secret, nil)
		hurryAll(t, db)
		awaitAllDelivered(t, db)
		i.within(time.Minute, "tenant", "freeze", tenant)
		i.must("tenant", "unfreeze", tenant)
		t.Logf("round %d of %d, after %d tries", round+1, rounds, tries)
	}
	i.within(time.Minute, "tenant", "export", "Acme", filepath.Join(t.TempDir(), "acme.zip"), passphraseFile(t, "a long passphrase"), "--freeze")
	s.stop()
}

// lockBeforeRelease has an endpoint fail while many deliveries wait for it, which are written by then, and takes the database's write
// lock once the results of all attempts are stored and the other deliveries are not released yet. It reports whether it holds
// the lock, which it does not if the release came first.
func lockBeforeRelease(t *testing.T, db *sql.DB, c *client, r *receiver, secret string) (isHeld bool) {
	t.Helper()
	const (
		attempts = "SELECT coalesce(max(rowid), 0) FROM delivery_attempts" // none is deleted
		claimed  = "SELECT count(*) FROM deliveries WHERE status = 'pending' AND leaseUntil != ''"
	)
	var arrived atomic.Int64
	fail := make(chan struct{})
	r.set(secret, func(w http.ResponseWriter, _ *http.Request) {
		arrived.Add(1)
		<-fail
		w.WriteHeader(http.StatusServiceUnavailable) // by which the engine knows that the endpoint takes no more now
	})
	before := count(t, db, attempts)
	createMany(c, 100)
	await(t, "deliveries that are written while they are claimed", func() bool { return int64(count(t, db, claimed)) > arrived.Load() })
	made := int(arrived.Load())
	execute(t, db, "PRAGMA busy_timeout = 0")
	defer execute(t, db, "PRAGMA busy_timeout = 10000")
	close(fail)
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); {
		if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			continue // the server writes; its end is the moment
		}
		stored := count(t, db, attempts) - before
		if stored == made && count(t, db, claimed) > 0 {
			return true
		}
		execute(t, db, "ROLLBACK")
		if stored >= made {
			return false
		}
		<-time.After(time.Millisecond) // for the server to take the lock
	}
	t.Fatal("the attempts have no results")
	return false
}

// keepWriting has several clients create contacts, and takes whatever they are answered, until the returned function is called.
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

// hurryAll makes all pending deliveries due that are not claimed.
func hurryAll(t *testing.T, db *sql.DB) {
	t.Helper()
	execute(t, db, "UPDATE deliveries SET nextAttempt = created WHERE status = 'pending'")
}

// createMany creates n contacts by one request.
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
		return count(t, db, "SELECT (SELECT count(*) FROM events WHERE rowid > "+positionRow+") + (SELECT count(*) FROM deliveries WHERE status != 'delivered')") == 0
	})
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// within runs a command that has to succeed in that time.
func (i *installation) within(limit time.Duration, args ...string) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), limit)
	defer cancel()
	command := i.command(ctx, append(append(args, "--dir="+i.data), i.args...)...)
	if got := finish(i.t, command); got.code != 0 {
		i.t.Fatalf("%v ends with %d after %s at the most: %s%s", args, got.code, limit, got.stdout, got.stderr)
	}
}
