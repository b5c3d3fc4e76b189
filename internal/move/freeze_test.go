package move_test

import (
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/move"
	"contactbase/internal/retention"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// Freezing waits for what is in flight, and nothing is claimed afterwards.
func TestFreezeDrains(t *testing.T) {
	t.Parallel()
	s := newSource(t, 30)
	queue := testkit.Deliveries(testkit.Reopen(t, s.app))
	claim := func() []*delivery.Job {
		t.Helper()
		jobs, err := queue.Claim(t.Context(), delivery.ClaimOptions{Now: time.Now().Add(time.Second), Lease: time.Minute, Limit: 5, PerEndpoint: 5})
		if err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	jobs := claim()
	if len(jobs) == 0 {
		t.Fatal("nothing is claimed")
	}
	frozen := make(chan error, 1)
	go func() {
		_, err := move.Freeze(t.Context(), testkit.Reopen(t, s.app), testkit.Deliveries(s.app), s.tenant)
		frozen <- err
	}()
	await(t, "the freeze", func() bool {
		return testkit.Count(t, s.app, "SELECT count(*) FROM _moves", nil) == 1
	})
	if more := claim(); len(more) > 0 {
		t.Errorf("%d are claimed of a frozen tenant", len(more))
	}
	select {
	case err := <-frozen:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(3 * 100 * time.Millisecond):
	}
	var results []delivery.Result
	for _, job := range jobs {
		results = append(results, delivery.Result{
			Job: job, Attempt: &delivery.Attempt{Number: job.Attempt, Started: time.Now(), Outcome: delivery.Outcome{Status: 410}},
			Decision: delivery.Decision{Status: delivery.StatusFailed, Disable: "It answered 410."},
		})
	}
	if err := queue.Complete(t.Context(), results, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := <-frozen; err != nil {
		t.Fatal(err)
	}
	if n := testkit.Count(t, s.app, "SELECT count(*) FROM webhooks WHERE disabled = 1", nil); n != 1 {
		t.Error("the webhook that is gone is not disabled")
	}
}

// guards returns how many triggers contacts have.
func guards(t *testing.T, app core.App) int {
	t.Helper()
	return testkit.Count(t, app, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'contacts'", nil)
}

// The triggers on contacts are there while a tenant arrives.
func TestGuardsOfAnImport(t *testing.T) {
	t.Parallel()
	s := newSource(t, 30)
	s.freeze(t)
	archive, target, met := s.export(t), newTarget(t), 0
	err := importInto(t.Context(), t, target, archive, func(g *move.Target) {
		g.Progress = func(int, int) { met = max(met, guards(t, target)) }
	})
	if left := guards(t, target); err != nil || met != 3 || left != 0 {
		t.Errorf("while it arrives there are %d triggers, and then %d: %v", met, left, err)
	}
}

// The triggers on contacts are there while a tenant moves: until it is opened again or deleted.
func TestGuardsComeAndGo(t *testing.T) {
	t.Parallel()
	s := newSource(t, 30)
	expect := func(when string, want int) {
		t.Helper()
		if got := guards(t, s.app); got != want {
			t.Errorf("%s there are %d triggers, not %d", when, got, want)
		}
	}
	expect("before", 0)
	s.freeze(t)
	expect("while it moves", 3)
	if _, err := s.app.DB().NewQuery("UPDATE contacts SET name = 'x'").Execute(); !tenant.IsMoving(err) {
		t.Errorf("the console of SQL may write: %v", err)
	}
	if _, err := tenant.Unfreeze(s.app, s.tenant); err != nil {
		t.Fatal(err)
	}
	expect("after unfreezing", 0)
	s.freeze(t)
	record, err := s.app.FindRecordById("tenants", s.tenant)
	if err == nil {
		err = s.app.Delete(record)
	}
	if err == nil {
		err = retention.Sweep(t.Context(), s.app, testkit.Deliveries(s.app))
	}
	if err != nil {
		t.Fatal(err)
	}
	expect("when it is deleted", 0)
	if n := testkit.Count(t, s.app, "SELECT count(*) FROM contacts WHERE tenant = {:tenant}", dbx.Params{"tenant": s.tenant}); n != 0 {
		t.Errorf("%d contacts are left", n)
	}
}
