package imports_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/imports"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// oneRow is the length of turns in which a check plans one row, and an import writes one chunk.
const oneRow = time.Nanosecond

// working works on imports until nothing is left to do, or stop is called. Both wait for the end.
func working(t *testing.T, app core.App) (wait, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- imports.WorkBy(ctx, app, oneRow) }()
	wait = func() error {
		err := <-ended
		ended <- err
		return err
	}
	stop = func() error {
		cancel()
		return wait()
	}
	t.Cleanup(func() { _ = stop() })
	return wait, stop
}

// begun waits until a row of the import was checked or applied.
func begun(t *testing.T, app core.App, id string) {
	t.Helper()
	testkit.Eventually(t, "the import begins", func() bool { return find(t, app, id).Position > 0 })
}

// Tenants take turns, however many imports they have, and so do the imports of a tenant.
func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	waiting := map[string][]string{"a": {"1", "4", "5"}, "b": {"2"}, "c": {"3", "6"}}
	for running, want := range map[string]string{
		"": "1 2 3 4 2 6 5 2 3 1 2 6", "a": "2 3 2 6 2 3", "b": "1 3 4 6 5 3 1 6",
	} {
		turns := strings.Fields(want)
		if got := imports.Turns(waiting, len(turns), running); !slices.Equal(got, turns) {
			t.Errorf("while %q has a turn, the others are %v", running, got)
		}
	}
}

// Another tenant's import is done long before a check of many rows that began earlier.
func TestOthersDoNotWaitForACheck(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	long := store(t, app, testkit.Tenant(t, app, "Acme"), large(5_000))
	begin(t, app, long, "externalId", check)
	_, stop := working(t, app)
	begun(t, app, long.ID)
	short := store(t, app, testkit.Tenant(t, app, "Other"), large(1))
	begin(t, app, short, "externalId", start)
	isDone := func() bool { return find(t, app, short.ID).Status == imports.Done }
	testkit.Eventually(t, "the other tenant's import is done", isDone)
	if got := find(t, app, long.ID); got.Status != imports.Checking || got.Position == got.Total {
		t.Errorf("the check was finished before: %+v", got)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("the work ends with %v", err)
	}
}

// A tenant has one check under way, whatever number of checks it begins.
func TestOneCheckOfATenantAtATime(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	first, second := store(t, app, acme, large(5_000)), store(t, app, acme, large(10))
	running := store(t, app, acme, large(10))
	begin(t, app, first, "externalId", check)
	begin(t, app, second, "externalId", check)
	begin(t, app, running, "externalId", start)
	wait, _ := working(t, app)
	testkit.Eventually(t, "the import is done", func() bool { return find(t, app, running.ID).Status == imports.Done })
	if got := find(t, app, second.ID); got.Position > 0 && find(t, app, first.ID).Status == imports.Checking {
		t.Errorf("two checks are under way: %+v", got)
	}
	if err := imports.Cancel(t.Context(), app, first.ID); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if got := find(t, app, first.ID); got.Status != imports.Cancelled {
		t.Errorf("the first is %+v", got)
	}
	if got := find(t, app, second.ID); got.Status != imports.Checked || got.Position != 10 {
		t.Errorf("the second is %+v", got)
	}
}

// Some checks are under way at a time, however many tenants begin one. All end.
func TestSomeChecksAtATime(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	const tenants, rows = 7, 30
	for range tenants {
		begin(t, app, store(t, app, testkit.Tenant(t, app, "Acme"), large(rows)), "externalId", check)
	}
	wait, _ := working(t, app)
	most := 0
	testkit.Eventually(t, "all checks end", func() bool {
		const underWay = "SELECT count(*) FROM _imports WHERE status = 'checking' AND position > 0"
		most = max(most, testkit.Count(t, app, underWay, nil))
		return testkit.Count(t, app, "SELECT count(*) FROM _imports WHERE status = 'checked'", nil) == tenants
	})
	if most == 0 || most > imports.MaxChecks {
		t.Errorf("%d checks are under way at a time", most)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

// An import that is started while its check is under way is worked on at once, beside another one that takes longer.
func TestStartedDuringTheCheck(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	long := store(t, app, testkit.Tenant(t, app, "Other"), large(5_000))
	begin(t, app, long, "externalId", check)
	stored := store(t, app, testkit.Tenant(t, app, "Acme"), large(500))
	begin(t, app, stored, "externalId", check)
	_, stop := working(t, app)
	begun(t, app, stored.ID)
	begin(t, app, stored, "externalId", start)
	testkit.Eventually(t, "the import is done", func() bool { return find(t, app, stored.ID).Status == imports.Done })
	if got := find(t, app, stored.ID); got.Counts != (imports.Counts{RowsCreated: 500}) {
		t.Errorf("the import did %+v", got)
	}
	if got := find(t, app, long.ID); got.Status != imports.Checking {
		t.Errorf("it waited for the other: %+v", got)
	}
	_ = stop()
}

// What the end of the program, a cancellation, or the end of API access interrupts stops where it is. Unless it was
// cancelled, it continues from there, and no row is lost or applied twice.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for what, begins := range map[string]beginning{"a check": check, "an import": start} {
		for by, interrupt := range map[string]func(t *testing.T, app core.App, owner, id string, stop func() error) error{
			"the end of the program": func(_ *testing.T, _ core.App, _, _ string, stop func() error) error { return stop() },
			"a cancellation": func(t *testing.T, app core.App, _, id string, _ func() error) error {
				return imports.Cancel(t.Context(), app, id)
			},
			"the end of API access": func(t *testing.T, app core.App, owner, _ string, _ func() error) error {
				return setEnabled(t, app, owner, false)
			},
			"the end of the tenant": func(_ *testing.T, app core.App, owner, _ string, _ func() error) error {
				record, err := app.FindRecordById("tenants", owner)
				if err != nil {
					return err
				}
				return app.Delete(record)
			},
		} {
			t.Run(what+", "+by, func(t *testing.T) {
				t.Parallel()
				app := testkit.NewApp(t)
				acme := testkit.Tenant(t, app, "Acme")
				const rows = 5_000
				stored := store(t, app, acme, large(rows))
				begin(t, app, stored, "externalId", begins)
				wait, stop := working(t, app)
				begun(t, app, stored.ID)
				if err := interrupt(t, app, acme, stored.ID, stop); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				reached := find(t, app, stored.ID).Position
				if err := wait(); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				left := find(t, app, stored.ID)
				if left.Position == rows || left.Position != reached && by != "the end of the program" {
					t.Errorf("it continues from %d to %d", reached, left.Position)
				}
				created := testkit.Count(t, app, "SELECT count(*) FROM contacts WHERE tenant = {:t}", dbx.Params{"t": acme})
				if what == "an import" && created != left.Position && by != "the end of the tenant" {
					t.Errorf("%d contacts of %d rows are written", created, left.Position)
				}
				if by == "the end of API access" {
					if again := work(t, app, stored.ID); again.Position != left.Position || again.Status != left.Status {
						t.Errorf("without API access it is %+v, then %+v", left, again)
					}
					if err := setEnabled(t, app, acme, true); err != nil {
						t.Fatal(err)
					}
				}
				if what == "a check" && by != "the end of the tenant" { // it seems that another process works on it
					testkit.Execute(t, app, "UPDATE _imports SET updated = '2026-01-01 00:00:00.000Z'", nil)
				}
				over := work(t, app, stored.ID)
				switch {
				case by == "a cancellation" || by == "the end of the tenant":
					if over.Position != left.Position || over.Counts != left.Counts {
						t.Errorf("it continues from %+v to %+v", left, over)
					}
				case over.Position != rows || over.Counts != (imports.Counts{RowsCreated: rows}):
					t.Errorf("it ends as %+v", over)
				}
			})
		}
	}
}

func setEnabled(t *testing.T, app core.App, owner string, enabled bool) error {
	t.Helper()
	record, err := app.FindRecordById("tenants", owner)
	if err != nil {
		return err
	}
	record.Set("apiEnabled", enabled)
	return app.Save(record)
}

// Without API access, nothing begins.
func TestNothingBeginsWithoutAccess(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	stored := store(t, app, acme, large(1))
	if err := setEnabled(t, app, acme, false); err != nil {
		t.Fatal(err)
	}
	for what, begins := range map[string]beginning{"a check": check, "an import": start} {
		if err := begins(app, stored.ID, stored.Mapping, ""); !errors.Is(err, tenant.ErrNotEnabled) {
			t.Errorf("%s begins with %v", what, err)
		}
	}
}
