package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// A recovery reads only its window, by indexes: what is older costs nothing.
func TestRecoverReadsItsWindow(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	now := time.Now()
	const window = 2*store.WindowPage + 1
	emit := func(of string, n int, at time.Time) {
		testkit.Events(t, app, of, n, at)
		testkit.Execute(t, app, "UPDATE events SET id = lower(hex(randomblob(7))) || 'x'", nil)
	}
	emit(tenant, 20*store.WindowPage, now.Add(-48*time.Hour))
	emit(other, window, now)
	emit(tenant, window, now)
	webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	for hours, want := range map[time.Duration]int{1: window, 72: window + 20*store.WindowPage} {
		turns, reading := 0, 0
		recovery := delivery.Recovery{Since: now.Add(-hours * time.Hour), Before: true, DryRun: true}
		recovery.Turn = func(context.Context) (func(), error) {
			turns++
			reading++
			return func() { reading-- }, nil
		}
		missed, err := store.New(app).Recover(t.Context(), webhook, recovery)
		if err != nil || missed.Count != want || missed.Oldest.Before(recovery.Since) {
			t.Errorf("%d hours: got %+v, %v", hours, missed, err)
		}
		if most := 3 + want/store.WindowPage; turns > most || reading != 0 {
			t.Errorf("%d hours: read in %d turns, of which %d have not ended; want at most %d", hours, turns, reading, most)
		}
	}
	for plan, query := range store.WindowQueries(app) {
		var steps []struct {
			Detail string `db:"detail"`
		}
		if err := query.All(&steps); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, step := range steps {
			found = append(found, step.Detail)
			for _, table := range []string{"SCAN events", "SCAN deliveries", "SCAN e ", "SCAN d "} {
				if strings.Contains(step.Detail+" ", table) {
					t.Errorf("%s in the plan with %s", step.Detail, plan)
				}
			}
		}
		if !slices.Contains(found, plan) {
			t.Errorf("the plan lacks %s:\n%s", plan, strings.Join(found, "\n"))
		}
	}
}

// A recovery stops reading when its client leaves, or when it gets no turn, and changes nothing.
func TestRecoverStops(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	now := time.Now()
	testkit.Events(t, app, tenant, 3*store.WindowPage, now)
	webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	refused := errors.New("refused")
	for want, turn := range map[error]func(leave func()) (func(), error){
		context.Canceled: func(leave func()) (func(), error) { return leave, nil },
		refused:          func(func()) (func(), error) { return nil, refused },
	} {
		ctx, leave := context.WithCancel(t.Context())
		_, err := store.New(app).Recover(ctx, webhook, delivery.Recovery{
			Since: now.Add(-time.Hour), Before: true,
			Turn: func(context.Context) (func(), error) { return turn(leave) },
		})
		leave()
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries", nil); n != 0 {
		t.Errorf("%d are due", n)
	}
}

// Pages of failed deliveries that were made at the same time are complete, and nothing comes twice.
func TestRecoverManyOfOneTime(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	webhook := testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	now := time.Now()
	const n = 2*store.WindowPage + 1
	testkit.Events(t, app, tenant, n, now)
	testkit.FanOut(t, app)
	testkit.Execute(t, app, "UPDATE deliveries SET status = 'failed', created = {:at}", map[string]any{"at": stamp.Stored(now)})
	missed, err := store.New(app).Recover(t.Context(), webhook, delivery.Recovery{Since: now.Add(-time.Hour), Before: true})
	if err != nil || missed.Failed != n || missed.Count != n {
		t.Errorf("got %+v, %v", missed, err)
	}
	if due := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE status = 'pending'", nil); due != n {
		t.Errorf("%d are due", due)
	}
}
