package replica_test

import (
	"errors"
	"testing"
	"time"

	"contactbase/internal/replica"
	"contactbase/internal/testkit"
)

// After its lease has expired, a machine commits nothing, and does not acknowledge uploads that were too late.
func TestFencedHolder(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	leased := config(store.URL("x"))
	leased.Lease = 5 * time.Second
	app, holder := holder(t, leased)
	t.Cleanup(func() { _ = holder.Stop() }) // it returns ErrFenced
	store.Stall()
	const rename = "UPDATE tenants SET name = 'late'"
	testkit.Execute(t, app, rename, nil)
	answered := make(chan error, 1)
	go func() { answered <- holder.Acknowledge(t.Context()) }()
	<-holder.Lost()
	select {
	case err := <-answered:
		t.Fatalf("Acknowledge returned while the store stalls: %v", err)
	default:
	}
	store.Resume()
	if err := <-answered; !errors.Is(err, replica.ErrFenced) {
		t.Errorf("after an upload that was too late, Acknowledge returned %v", err)
	}
	if _, err := app.NonconcurrentDB().NewQuery(rename).Execute(); !errors.Is(err, replica.ErrFenced) {
		t.Errorf("after the lease, a commit returned %v", err)
	}
}
