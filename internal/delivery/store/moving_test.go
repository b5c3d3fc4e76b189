package store_test

import (
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// Nothing of a tenant that moves is claimed, not even where it begins to move between the choice of deliveries and their lease, and nobody waits for
// what is due there.
func TestMovingTenantsAreNotClaimed(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	queue, now := store.New(app), time.Now().Add(time.Minute)
	claim := func(freeze func()) int {
		t.Helper()
		jobs, err := queue.ClaimAround(t.Context(), delivery.ClaimOptions{Now: now, Lease: time.Minute, Limit: 5, PerEndpoint: 5}, freeze)
		if err != nil {
			t.Fatal(err)
		}
		return len(jobs)
	}
	freeze := func() {
		testkit.Execute(t, app, "INSERT INTO _moves (tenant, state, created) VALUES ({:tenant}, 'frozen', '')", dbx.Params{"tenant": tenant})
	}
	if n := claim(freeze); n != 0 {
		t.Errorf("%d are claimed of a tenant that has begun to move", n)
	}
	if n := claim(func() { t.Error("something is chosen of a tenant that moves") }); n != 0 {
		t.Errorf("%d are claimed of a tenant that moves", n)
	}
	if next, err := queue.NextDue(t.Context(), time.Now().Add(-time.Hour)); err != nil || !next.IsZero() {
		t.Errorf("the next is due at %s, %v", next, err)
	}
	testkit.Execute(t, app, "DELETE FROM _moves", nil)
	if n := claim(func() {}); n != 1 {
		t.Errorf("%d are claimed of a tenant that is open again", n)
	}
}
