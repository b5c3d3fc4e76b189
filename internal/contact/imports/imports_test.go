package imports_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/retention"
	"contactbase/internal/testkit"
)

// store stores a sheet whose columns are called like fields.
func store(t *testing.T, app core.App, tenantID, text string) *imports.Import {
	t.Helper()
	stored, err := imports.Store(t.Context(), app, tenantID, imports.Source{Name: "contacts.csv"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// A long name of a file is cut between two characters.
func TestLongNameIsCut(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	stored, err := imports.Store(t.Context(), app, testkit.Tenant(t, app, "Acme"), imports.Source{Name: "a" + strings.Repeat("é", 200) + ".csv"}, strings.NewReader("name\nAda\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "a" + strings.Repeat("é", 99); stored.Name != want {
		t.Errorf("the name is kept as %q, want %q", stored.Name, want)
	}
}

// work does what is to be done of the import, and returns it.
func work(t *testing.T, app core.App, id string) *imports.Import {
	t.Helper()
	if err := imports.Work(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	return find(t, app, id)
}

func find(t *testing.T, app core.App, id string) *imports.Import {
	t.Helper()
	found, err := imports.Find(app, id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// beginning begins a check or an import.
type beginning func(app core.App, id string, mapping []string, match string) error

func begin(t *testing.T, app core.App, stored *imports.Import, match string, begin func(core.App, string, []string, string) error) {
	t.Helper()
	if err := begin(app, stored.ID, stored.Mapping, match); err != nil {
		t.Fatal(err)
	}
}

func check(app core.App, id string, mapping []string, match string) error {
	return imports.Check(app, id, sheet.Choices{Mapping: mapping, Match: match})
}

func start(app core.App, id string, mapping []string, match string) error {
	return imports.Start(app, id, sheet.Choices{Mapping: mapping, Match: match})
}

const mixed = `Full Name,E-Mail,Mobile,externalId,Remarks
Ada Lovelace,ada@example.com,+49 30 1234,1,first
Grace,nonsense,,2,
Hedy,hedy@example.com,,,
Ada,ADA@example.com,,1,again
,,,3,
Known,known@example.com,,known,
`

// A check tells what the import then does, by either of the fields that find contacts, and writes nothing.
func TestCheckTellsWhatHappens(t *testing.T) {
	t.Parallel()
	for match, want := range map[string]imports.Counts{
		"externalId": {RowsCreated: 2, RowsUpdated: 1, RowsUnchanged: 1, RowsRefused: 2, RowsRepeated: 1},
		"email":      {RowsCreated: 2, RowsUpdated: 1, RowsUnchanged: 1, RowsRefused: 2, RowsRepeated: 1},
		"":           {RowsCreated: 2, RowsUpdated: 1, RowsUnchanged: 1, RowsRefused: 2, RowsRepeated: 1},
	} {
		app := testkit.NewApp(t)
		acme, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
		testkit.Record(t, app, "contacts", map[string]any{"tenant": acme, "name": "Known", "email": "known@example.com", "externalId": "known"})
		testkit.Record(t, app, "contacts", map[string]any{"tenant": other, "name": "Stranger", "email": "ada@example.com", "externalId": "1"})
		stored := store(t, app, acme, mixed)
		if got := strings.Join(stored.Mapping, ","); got != "name,email,phone,externalId," || stored.Total != 6 || len(stored.Samples) != 3 {
			t.Fatalf("the import is %+v", stored)
		}
		begin(t, app, stored, match, check)
		checked := work(t, app, stored.ID)
		if checked.Status != imports.Checked || checked.Counts != want || len(checked.Refusals) != want.RowsRefused {
			t.Errorf("by %s the check tells %+v", match, checked)
		}
		if n := testkit.Count(t, app, "SELECT count(*) FROM contacts", nil); n != 2 {
			t.Errorf("after the check there are %d contacts", n)
		}
		begin(t, app, stored, match, start)
		done := work(t, app, stored.ID)
		if done.Status != imports.Done || done.Counts != want || len(done.Refusals) != want.RowsRefused || done.Position != 6 {
			t.Errorf("by %s the import did %+v", match, done)
		}
		if reason := done.Refusals[0]; reason.Row != 3 || !strings.Contains(reason.Reason, "email") {
			t.Errorf("by %s the first refusal is %+v", match, reason)
		}
		if n := testkit.Count(t, app, "SELECT count(*) FROM contacts WHERE tenant = {:t} AND name = 'Stranger'", dbx.Params{"t": other}); n != 1 {
			t.Error("the contact of another tenant has changed")
		}
		var refused strings.Builder
		if err := imports.WriteRefused(app, stored.ID, done.Format, &refused); err != nil || !strings.Contains(refused.String(), "Grace,nonsense,,2,,\"email: ") {
			t.Errorf("the refused rows are %q (%v)", refused.String(), err)
		}
		if left := testkit.Count(t, app, "SELECT count(*) FROM _importRows", nil); left != 0 || len(done.Samples) != 0 {
			t.Errorf("%d pages of rows and %d samples are left", left, len(done.Samples))
		}
	}
}

// large returns a sheet of so many contacts.
func large(rows int) string {
	var b strings.Builder
	b.WriteString("name,externalId\n")
	for i := range rows {
		fmt.Fprintf(&b, "Ada %d,%d\n", i, i)
	}
	return b.String()
}

// Several that work on an import apply no row twice, and none of them is missing.
func TestNoRowIsAppliedTwice(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	stored := store(t, app, testkit.Tenant(t, app, "Acme"), large(2_000))
	begin(t, app, stored, "externalId", start)
	second := testkit.Reopen(t, app)
	var workers sync.WaitGroup
	for _, worker := range []core.App{app, second, app} {
		workers.Go(func() {
			if err := imports.Work(t.Context(), worker); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	done := find(t, app, stored.ID)
	if done.Status != imports.Done || done.Counts != (imports.Counts{RowsCreated: 2_000}) {
		t.Errorf("the import did %+v", done)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM events", nil); n != 2_000 {
		t.Errorf("there are %d events", n)
	}
}

// Who works on one import leaves the others alone, and where somebody else has taken it, waits for
// what they make of it.
func TestOneImportAlone(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	for _, what := range []struct {
		begin func(core.App, string, []string, string) error
		ends  imports.Status
	}{{check, imports.Checked}, {start, imports.Done}} {
		other, own := store(t, app, acme, large(10)), store(t, app, acme, large(2_000))
		begin(t, app, other, "externalId", what.begin)
		begin(t, app, own, "externalId", what.begin)
		if err := imports.WorkOn(t.Context(), app, own.ID); err != nil {
			t.Fatal(err)
		}
		if got := find(t, app, own.ID); got.Status != what.ends || got.Position != 2_000 {
			t.Errorf("the import is %+v", got)
		}
		if got := find(t, app, other.ID); got.Position != 0 || got.Counts != (imports.Counts{}) {
			t.Errorf("the other is %+v", got)
		}
		shared := store(t, app, testkit.Tenant(t, app, "Shared "+string(what.ends)), large(5_000))
		begin(t, app, shared, "externalId", what.begin)
		var workers sync.WaitGroup
		workers.Go(func() {
			if err := imports.Work(t.Context(), testkit.Reopen(t, app)); err != nil {
				t.Error(err)
			}
		})
		if err := imports.WorkOn(t.Context(), app, shared.ID); err != nil {
			t.Error(err)
		}
		if got := find(t, app, shared.ID); got.Status != what.ends || got.Counts != (imports.Counts{RowsCreated: 5_000}) {
			t.Errorf("what two have worked on is %+v", got)
		}
		workers.Wait()
	}
}

// An import that is interrupted continues where it was, and one that is cancelled does not.
func TestInterruptedAndCancelled(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	stored := store(t, app, testkit.Tenant(t, app, "Acme"), large(1_000))
	begin(t, app, stored, "externalId", start)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := imports.Work(ctx, app); err == nil {
		t.Error("an interrupt goes unnoticed")
	}
	if err := imports.Cancel(t.Context(), app, stored.ID); err != nil {
		t.Fatal(err)
	}
	if over := work(t, app, stored.ID); over.Status != imports.Cancelled || over.RowsCreated != 0 {
		t.Errorf("the import is %+v", over)
	}
	if left := testkit.Count(t, app, "SELECT count(*) FROM _importRows", nil); left != 0 {
		t.Errorf("%d pages of rows are left", left)
	}
	if err := start(app, stored.ID, stored.Mapping, "externalId"); err == nil {
		t.Error("it begins again")
	}
}

// A wrong mapping begins nothing.
func TestMappingIsChecked(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	stored := store(t, app, testkit.Tenant(t, app, "Acme"), large(1))
	for _, c := range []struct {
		mapping []string
		match   string
		wrong   string
	}{
		{[]string{"name"}, "email", "one entry for each"},
		{[]string{"id", "id"}, "id", "two columns for id"},
		{[]string{"name", "tenant"}, "email", "not a field"},
		{[]string{"name", "externalId"}, "email", "a column is mapped to"},
		{[]string{"name", "externalId"}, "name", "must be one of id, externalId, email, phone, none"},
	} {
		if err := start(app, stored.ID, c.mapping, c.match); err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%v by %s: got %v", c.mapping, c.match, err)
		}
	}
}

// What belongs to a tenant goes with it, and what nobody needs any more after a week.
func TestImportsGo(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	rows := func() int {
		return testkit.Count(t, app, "SELECT (SELECT count(*) FROM _imports) + (SELECT count(*) FROM _importRows) + (SELECT count(*) FROM _importRefusals)", nil)
	}
	gone := testkit.Tenant(t, app, "Gone")
	begin(t, app, store(t, app, gone, mixed), "email", start)
	store(t, app, gone, mixed)
	record, err := app.FindRecordById("tenants", gone)
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Delete(record); err != nil {
		t.Fatal(err)
	}
	if err := imports.Work(t.Context(), app); err != nil { // whose import nobody continues with
		t.Fatal(err)
	}
	if err := retention.Sweep(t.Context(), app, testkit.Deliveries(app)); err != nil || rows() != 0 {
		t.Errorf("of a tenant that is gone %d rows are left (%v)", rows(), err)
	}

	acme := testkit.Tenant(t, app, "Acme")
	old := store(t, app, acme, mixed)
	begin(t, app, old, "email", check)
	work(t, app, old.ID)
	running := store(t, app, acme, mixed)
	begin(t, app, running, "email", start)
	testkit.Execute(t, app, "UPDATE _imports SET updated = '2020-01-01 00:00:00.000Z'", nil)
	prune := func() error { return imports.Prune(t.Context(), app, time.Now().Add(-imports.Kept)) }
	if err := prune(); err != nil {
		t.Fatal(err)
	}
	if left, err := imports.List(app, ""); err != nil || len(left) != 1 || left[0].ID != running.ID || rows() != 2 {
		t.Errorf("left are %d rows and %v (%v)", rows(), left, err)
	}
}

// What an import has kept of the contacts that it changed goes once it has ended, and that of a running one is not
// looked through: it may be much.
func TestKeptContactsGo(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	stored := store(t, app, acme, large(300))
	begin(t, app, stored, "externalId", start)
	work(t, app, stored.ID)
	kept := func() int { return testkit.Count(t, app, "SELECT count(*) FROM _importContacts", nil) }
	prune := func() error { return imports.Prune(t.Context(), app, time.Now().Add(-imports.Kept)) }
	testkit.Execute(t, app, "UPDATE _imports SET status = 'running'", nil)
	if err := prune(); err != nil || kept() != 300 {
		t.Errorf("of a running import %d are left (%v)", kept(), err)
	}
	testkit.Execute(t, app, "UPDATE _imports SET status = 'done'", nil)
	if err := prune(); err != nil || kept() != 0 {
		t.Errorf("of an import that is done %d are left (%v)", kept(), err)
	}
	for _, statement := range imports.PruneSQL() {
		var plan []struct {
			Detail string `db:"detail"`
		}
		if err := app.DB().NewQuery("EXPLAIN QUERY PLAN " +
			strings.NewReplacer("?1", "'[]'", "?2", "1", "?", "1").Replace(statement)).All(&plan); err != nil {
			t.Fatal(err)
		}
		for _, step := range plan {
			if strings.HasPrefix(step.Detail, "SCAN _import") || strings.HasPrefix(step.Detail, "SCAN r") {
				t.Errorf("%s: %s", statement, step.Detail)
			}
		}
	}
}

// An import reads the national numbers of its tenant's country, unless another one is chosen.
func TestCountryOfTheTenant(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	record := testkit.Record(t, app, "tenants", map[string]any{"name": "Acme", "apiEnabled": true, "country": "de"})
	if stored := record.GetString("country"); stored != "DE" {
		t.Errorf("the country of the tenant is %q", stored)
	}
	acme := record.Id
	for country, want := range map[string]string{"": "+49305550144", "fr": "+33305550144"} {
		stored := store(t, app, acme, "name,phone\nAda "+country+",030 5550144\n")
		if err := imports.Start(app, stored.ID, sheet.Choices{Country: country}); err != nil {
			t.Fatal(err)
		}
		work(t, app, stored.ID)
		if n := testkit.Count(t, app, "SELECT count(*) FROM contacts WHERE phone = {:phone}", dbx.Params{"phone": want}); n != 1 {
			t.Errorf("in %q %d contacts have %s", country, n, want)
		}
		if got := find(t, app, stored.ID); got.Country != strings.ToUpper(cmp.Or(country, "DE")) {
			t.Errorf("the country of the import is %q", got.Country)
		}
	}
}
