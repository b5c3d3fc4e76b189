package replica_test

import (
	"errors"
	"testing"
	"time"

	"contactbase/internal/replica"
	"contactbase/internal/testkit"
)

// Who was not heard for longer than the lease commits nothing, and acknowledges nothing of what reached the store too late.
func TestFencedHolder(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	leased := config(store.URL("x"))
	leased.Lease = time.Second
	app, holder := holder(t, leased)
	t.Cleanup(func() { _ = holder.Stop() }) // it tells that it was fenced
	store.Stall()
	const rename = "UPDATE tenants SET name = 'late'"
	testkit.Execute(t, app, rename, nil)
	answered := make(chan error, 1)
	go func() { answered <- holder.Acknowledge(t.Context()) }()
	<-holder.Lost()
	select {
	case err := <-answered:
		t.Fatalf("it is answered while the store stalls: %v", err)
	default:
	}
	store.Resume()
	if err := <-answered; !errors.Is(err, replica.ErrFenced) {
		t.Errorf("what the store took after the lease is acknowledged with %v", err)
	}
	if _, err := app.NonconcurrentDB().NewQuery(rename).Execute(); !errors.Is(err, replica.ErrFenced) {
		t.Errorf("after the lease a commit gives %v", err)
	}
}
