package imports_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/imports"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// An import that cannot go on holds up no other.
func TestFailedImportHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	// of which the collection does not know
	testkit.Execute(t, app, "CREATE UNIQUE INDEX mine ON contacts (tenant, lower(email)) WHERE email != ''", nil)
	bad := store(t, app, acme, "externalId,name,email\n1,Ada,a@example.com\n2,Bob,a@example.com\n")
	begin(t, app, bad, "externalId", start)
	good := store(t, app, other, "externalId,name\n1,Ada\n")
	begin(t, app, good, "externalId", start)
	if err := imports.Work(t.Context(), app); err == nil || !strings.Contains(err.Error(), "mine") {
		t.Errorf("the work ends with %v", err)
	}
	if got := find(t, app, good.ID); got.Status != imports.Done || got.RowsCreated != 1 {
		t.Errorf("the other import is %+v", got)
	}
	if got := find(t, app, bad.ID); got.Status != imports.Running {
		t.Errorf("the import that failed is %+v", got)
	}
}

// A row that a unique index of an admin refuses is refused, also where the index has expressions.
func TestUniqueExpressionRefusesRow(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	testkit.ChangeContacts(t, app, func(c *core.Collection) {
		c.Indexes = append(c.Indexes, "CREATE UNIQUE INDEX `mine` ON `contacts` (`tenant`, lower(`email`)) WHERE `email` != ''")
	})
	stored := store(t, app, acme, "externalId,name,email\n1,Ada,a@example.com\n2,Bob,a@example.com\n")
	begin(t, app, stored, "externalId", start)
	got := work(t, app, stored.ID)
	if got.Status != imports.Done || got.RowsCreated != 1 || len(got.Refusals) != 1 || !strings.Contains(got.Refusals[0].Reason, "email") {
		t.Errorf("the import is %+v", got)
	}
}

// A sheet that nobody stores any more, because who did was killed, keeps no tenant from moving, and goes.
func TestKilledWhileStored(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	store(t, app, acme, "externalId,name\n1,Ada\n")
	since := func(ago time.Duration) {
		testkit.Execute(t, app, "UPDATE _imports SET status = 'storing', updated = {:updated}", map[string]any{
			"updated": time.Now().UTC().Add(-ago).Format("2006-01-02 15:04:05.000Z"),
		})
	}
	freeze := func() error {
		return app.RunInTransaction(func(tx core.App) error {
			_, err := tenant.Freeze(tx, acme)
			return err
		})
	}
	since(time.Second)
	if err := freeze(); err == nil {
		t.Error("a tenant is closed while a sheet of it is stored")
	}
	since(2 * time.Minute)
	if err := freeze(); err != nil {
		t.Error(err)
	}
	if _, err := tenant.Unfreeze(app, acme); err != nil {
		t.Fatal(err)
	}
	for _, expected := range []struct {
		ago  time.Duration
		left int
	}{{30 * time.Minute, 1}, {2 * time.Hour, 0}} {
		since(expected.ago)
		if err := imports.Prune(t.Context(), app, time.Now().Add(-24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if left := testkit.Count(t, app, "SELECT count(*) FROM _importRows", nil); left != expected.left {
			t.Errorf("%d pages of what was stored %s ago are left", left, expected.ago)
		}
	}
}
