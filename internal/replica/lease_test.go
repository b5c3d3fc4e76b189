package replica

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"contactbase/internal/replica/fakes3"
)

func newLeased(t *testing.T, s *fakes3.Store, lease time.Duration) *Replica {
	t.Helper()
	r, err := Open(Config{URL: s.URL("x"), Mode: Sync, Interval: time.Second, Timeout: 10 * time.Second, Lease: lease},
		t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newFake(t *testing.T) *fakes3.Store {
	t.Helper()
	s := fakes3.New()
	t.Cleanup(s.Close)
	return s
}

// runStandby waits until a machine may serve, which does not take long.
func runStandby(t *testing.T, r *Replica) {
	t.Helper()
	if err := r.RunStandby(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.lease.cancel() })
}

// newHolder returns a machine that has the lease, and the store.
func newHolder(t *testing.T, lease time.Duration) (*Replica, *fakes3.Store) {
	t.Helper()
	s := newFake(t)
	r := newLeased(t, s, lease)
	runStandby(t, r)
	return r, s
}

func TestLeaseIsLost(t *testing.T) {
	t.Parallel()
	r, _ := newHolder(t, 4*time.Second)
	if err := r.Holds(); err != nil {
		t.Fatal(err)
	}
	found, tag, err := r.readLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found.Generation, found.Folder = found.Generation+1, "another"
	for { // the holder renews meanwhile
		if _, err = r.writeLock(t.Context(), found, tag); err == nil {
			break
		}
		if _, tag, err = r.readLock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	<-r.Lost()
	if err := r.Acknowledge(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("without the lease, Acknowledge returned %v", err)
	}
	if state := r.Status().State; state != Fenced {
		t.Errorf("the state is %q", state)
	}
}

func TestLeaseExpiresWithoutStore(t *testing.T) {
	t.Parallel()
	r, s := newHolder(t, time.Second)
	if left, most := time.Duration(r.lease.until.Load())-clock(), r.lease.ttl*4/5; left > most {
		t.Errorf("the lease is held for another %s, but a standby waits only %s", left, r.lease.ttl)
	}
	s.Stall()
	<-r.Lost()
	if r.lease.held() {
		t.Error("a holder without a store still holds the lease")
	}
}

// A renewal without a response may have succeeded.
func TestRenewalWithoutResponse(t *testing.T) {
	t.Parallel()
	r, _ := newHolder(t, time.Hour)
	for range 2 {
		unheard, err := r.writeLock(t.Context(), r.lease.record, r.lease.tag)
		if err != nil {
			t.Fatal(err)
		}
		if unheard == r.lease.tag {
			t.Fatal("the lock record did not change")
		}
		if err := r.lease.renew(t.Context()); err != nil {
			t.Errorf("a renewal after one without a response: %v", err)
		}
	}
	if _, err := r.writeLock(t.Context(), r.lease.record, r.lease.tag); err != nil {
		t.Fatal(err)
	}
	if err := r.lease.release(t.Context(), 0); err != nil {
		t.Errorf("a release after a renewal without a response: %v", err)
	}
	if found, _, err := r.readLock(t.Context()); err != nil || !found.Released {
		t.Errorf("after the release, the lock record is %+v (%v)", found, err)
	}
}

func TestStandbyWaitsForWholeLease(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	holder, s := newHolder(t, ttl)
	standby := newLeased(t, s, ttl)
	holder.lease.cancel() // it falls silent
	began := time.Now()
	StandbyUntil(t, standby, "nothing that can be restored") // the holder has sent nothing
	if waited := time.Since(began); waited < ttl {
		t.Errorf("a standby waits for %s of a lease of %s", waited, ttl)
	}
}

func TestStandbyDoesNotWaitForStoppedHolder(t *testing.T) {
	t.Parallel()
	holder, _ := newHolder(t, time.Hour)
	if err := holder.lease.release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	again, err := Open(holder.config, holder.dataDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(holder.dataDir, dataFile), []byte("its own"), 0o600); err != nil {
		t.Fatal(err)
	}
	runStandby(t, again)
	if again.written.generation.Load() != 2 {
		t.Errorf("the next generation is %d", again.written.generation.Load())
	}
	if content, err := os.ReadFile(filepath.Join(holder.dataDir, dataFile)); string(content) != "its own" || err != nil {
		t.Errorf("the data directory of the last holder has %q (%v)", content, err)
	}
}

func TestStandbyKeepsOtherData(t *testing.T) {
	t.Parallel()
	_, s := newHolder(t, time.Second)
	stranger := newLeased(t, s, time.Second)
	database := filepath.Join(stranger.dataDir, dataFile)
	if err := os.WriteFile(database, []byte("strange"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stranger.RunStandby(t.Context(), t.Logf); err == nil || !strings.Contains(err.Error(), "does not come from the replica") {
		t.Errorf("a data directory with other data: %v", err)
	}
	if _, err := os.Stat(database); err != nil {
		t.Error(err)
	}
	if err := CheckFolder(stranger.dataDir); err != nil {
		t.Errorf("the data directory cannot be served without a lease: %v", err)
	}
}

func TestStandbyDoesNotReplaceHolderWithoutLease(t *testing.T) {
	t.Parallel()
	s := newFake(t)
	holder, standby := newLeased(t, s, 0), newLeased(t, s, time.Second)
	if err := holder.claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := standby.RunStandby(ctx, t.Logf); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a standby for a holder without a lease: %v", err)
	}
}

func TestCommandsOnAStandby(t *testing.T) {
	t.Parallel()
	_, s := newHolder(t, time.Hour)
	standby := newLeased(t, s, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- standby.RunStandby(ctx, func(string, ...any) { close(waiting) }) }()
	<-waiting
	if err := CheckFolder(standby.dataDir); !errors.Is(err, ErrStandby) {
		t.Errorf("the data directory of a standby: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The holder's clock does not matter.
func TestStandbyIgnoresOtherClocks(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ttl = time.Second
			standby := newLeased(t, newFake(t), ttl)
			content, err := json.Marshal(lockRecord{Generation: 1, Folder: "another", TTL: ttl.Seconds(), Renewed: time.Now().Add(off)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := standby.store.Swap(t.Context(), lockName, content, ""); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			StandbyUntil(t, standby, "nothing that can be restored")
			if waited := time.Since(began); waited < ttl || waited > time.Hour {
				t.Errorf("it waits for %s of a lease of %s", waited, ttl)
			}
		})
	}
}
