package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// Nothing of a tenant that moves is fetched, and nobody waits for what is due there. It is to be drained until
// the engine has committed that it is.
func TestMovingTenantsAreNotFetched(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	queue := store.New(app)
	expect := func(agenda, due int, drain bool) {
		t.Helper()
		polled, err := queue.Poll(t.Context())
		if err != nil || len(polled.Due) != agenda || slices.Contains(polled.Drain, tenant) != drain {
			t.Errorf("the agenda is %+v, %v", polled, err)
		}
		jobs, err := queue.Fetch(t.Context(),
			delivery.Fetch{Now: time.Now().Add(time.Minute), Limits: map[string]int{webhook: 5}})
		if err != nil || len(jobs) != due {
			t.Errorf("%d due deliveries are fetched, %v", len(jobs), err)
		}
	}
	expect(1, 1, false)
	testkit.Execute(t, app, "INSERT INTO _moves (tenant, state, created) VALUES ({:tenant}, 'frozen', '')", dbx.Params{"tenant": tenant})
	expect(0, 0, true)
	if _, err := queue.Commit(t.Context(), delivery.Commit{Now: time.Now(), Drained: []string{tenant}}); err != nil {
		t.Fatal(err)
	}
	expect(0, 0, false)
	testkit.Execute(t, app, "DELETE FROM _moves", nil)
	expect(1, 1, false)
}

// A delivery of an event of another tenant, which only a foreign hand can write, is not sent.
func TestEventsOfAnotherTenantAreNotSent(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	testkit.Emit(t, app, tenant, "", event.ContactUpdated)
	foreign := testkit.Emit(t, app, other, "", event.ContactUpdated)
	for _, wrong := range []bool{false, true} {
		if wrong {
			testkit.Execute(t, app, "UPDATE deliveries SET event = {:event}", dbx.Params{"event": foreign})
		}
		jobs := fetch(t, app, time.Now())
		if len(jobs) != 1 || (jobs[0].Endpoint.Fault != nil) != wrong {
			t.Errorf("fetched %+v", jobs)
		}
	}
}
