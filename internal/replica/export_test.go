package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"contactbase/internal/replica/shipping"
	"contactbase/internal/replica/store"
)

// LockRecord is what lock.json says.
type LockRecord struct {
	Generation   int64
	From         Position
	Acknowledged Position
	Unshipped    uint64
	Released     bool
}

// ReadLock reads lock.json.
func ReadLock(t *testing.T, r *Replica) LockRecord {
	t.Helper()
	found, _, err := r.readLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return LockRecord{found.Generation, found.From, found.acknowledged(), found.Unshipped, found.Released}
}

// Whole returns up to which position a generation can be restored.
func Whole(t *testing.T, r *Replica, generation int64) Position {
	t.Helper()
	found, err := shipping.NewFiles(r.store, generation, dataFile).Extent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return Position{generation, found.Restorable}
}

// StoreOf returns where a replica is.
func StoreOf(r *Replica) store.Store { return r.store }

// Accept has a machine accept a loss.
func Accept(t *testing.T, r *Replica, loss string) {
	t.Helper()
	if err := r.config.AcceptLoss.Set(loss); err != nil {
		t.Fatal(err)
	}
}

// ReleaseLease ends a lease that nothing was written with.
func ReleaseLease(ctx context.Context, r *Replica) error { return r.lease.release(ctx, 0) }

// StopWithin sets how long Stop waits for the store.
func StopWithin(r *Replica, timeout time.Duration) { r.replication.shutdownTimeout = timeout }

// StandbyUntil has a machine stand by until it says something.
func StandbyUntil(t *testing.T, r *Replica, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	said := ""
	err := r.RunStandby(ctx, func(format string, args ...any) {
		said += fmt.Sprintf(format, args...) + "\n"
		if strings.Contains(said, text) {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a standby ends with %v, and never said %q:\n%s", err, text, said)
	}
}
