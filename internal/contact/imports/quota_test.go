package imports_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/contact/imports"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// The imports of a tenant fill no disk: neither those that wait, nor what was refused of those that have ended. Those
// of others do not count.
func TestQuota(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	waiting := store(t, app, tenant, "name\nAda\nGrace\n")
	if n := testkit.Count(t, app, "SELECT bytes FROM _imports", nil); n < 1024 || n > 2048 {
		t.Errorf("two rows count as %d bytes", n)
	}
	testkit.Execute(t, app, "UPDATE _imports SET bytes = {:quota}", dbx.Params{"quota": imports.Quota})
	refused := func(text string) bool {
		_, err := imports.Store(t.Context(), app, tenant, imports.Source{Name: "contacts.csv"}, strings.NewReader(text))
		var wrong *fault.Error
		if err != nil && (!errors.As(err, &wrong) || wrong.Code != fault.PayloadTooLarge) {
			t.Errorf("storing fails with %v", err)
		}
		return err != nil
	}
	if !refused("name\nZoe\n") {
		t.Error("a tenant exceeds its quota")
	}
	store(t, app, other, "name\nZoe\n")
	if err := imports.Cancel(t.Context(), app, waiting.ID); err != nil {
		t.Fatal(err)
	}
	if refused("name\nZoe\n") {
		t.Error("a cancelled import counts")
	}
	testkit.Execute(t, app, "UPDATE _imports SET rowsRefused = total WHERE id = {:id}", dbx.Params{"id": waiting.ID})
	if !refused("name\nZoe\n") {
		t.Error("refused rows do not count")
	}

	testkit.Execute(t, app, "UPDATE _imports SET rowsRefused = 0, bytes = {:bytes} WHERE id = {:id}", dbx.Params{"id": waiting.ID, "bytes": 0})
	testkit.Execute(t, app, "UPDATE _imports SET bytes = {:bytes} WHERE status = 'new' AND tenant = {:tenant}", dbx.Params{"bytes": imports.Quota - 800<<10, "tenant": tenant})
	if !refused("name\n" + strings.Repeat("Zoe\n", 2000)) {
		t.Error("a file exceeds the quota while it is stored")
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM _importRows", nil); n != 2 {
		t.Errorf("%d pages are stored", n)
	}
}
