package imports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/testkit"
)

// All warnings are counted and kept, even if the database is so busy that each chunk has one row. A bounded number is
// read.
func TestNotesAreKept(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	var text strings.Builder
	text.WriteString("name,phone\n")
	const rows = 1_250
	for n := range rows {
		fmt.Fprintf(&text, "Ann %d,030 %d\n", n, 10_000+n)
	}
	stored := store(t, app, testkit.Tenant(t, app, "Acme"), text.String())
	testkit.Execute(t, app, "CREATE TRIGGER slow AFTER UPDATE OF position ON _imports BEGIN "+
		"SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 60), (SELECT 1 FROM sqlite_schema LIMIT 60), (SELECT 1 FROM sqlite_schema LIMIT 60); END", nil)
	for _, begins := range []func(core.App, string, []string, string) error{check, start} {
		begin(t, app, stored, "", begins)
		got := work(t, app, stored.ID)
		for limit, want := range map[int]int{2 * rows: rows, 1_000: 1_000} {
			notes, err := imports.Notes(app, stored.ID, limit)
			if err != nil || got.Warnings != rows || len(notes) != want || notes[0].Row != 2 || notes[len(notes)-1].Row != want+1 {
				t.Errorf("of %d warnings %d are read (%v)", got.Warnings, len(notes), err)
			}
		}
	}
}

// A remark about a column disappears once its advice is followed.
func TestRemarksFollowTheMapping(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	stored := store(t, app, testkit.Tenant(t, app, "Acme"), "Record ID,Name,Phone,Mobile\n7,Ann,+491,+492\n")
	remarks := func() (texts []string) {
		for _, remark := range find(t, app, stored.ID).Remarks {
			texts = append(texts, remark.Text)
		}
		return texts
	}
	const ids, phones = `the column "Record ID" has IDs of another system`, `phone is the first value of the columns "Phone", "Mobile"`
	if got := remarks(); len(got) != 2 || !strings.HasPrefix(got[0], ids) || got[1] != phones {
		t.Errorf("it says %q", got)
	}
	for _, c := range []struct {
		mapping sheet.Mapping
		want    []string
	}{
		{sheet.Mapping{"externalId", "name", "phone", "phone"}, []string{phones}},
		{sheet.Mapping{"externalId", "name", "phone", ""}, nil},
	} {
		if err := check(app, stored.ID, c.mapping, ""); err != nil {
			t.Fatal(err)
		}
		if got := remarks(); !slices.Equal(got, c.want) {
			t.Errorf("with %v it says %q", c.mapping, got)
		}
	}
}

// If several contacts share a phone number, a row changes the oldest one.
func TestOldestByPhone(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	for _, c := range []struct{ id, tenant, created string }{
		{"aaaaaaaaaaaaaaa", acme, "2026-03-01 00:00:00.000Z"}, {"ccccccccccccccc", acme, "2026-01-01 00:00:00.000Z"},
		{"bbbbbbbbbbbbbbb", acme, "2026-02-01 00:00:00.000Z"}, {"ddddddddddddddd", other, "2025-01-01 00:00:00.000Z"},
	} {
		testkit.Record(t, app, "contacts", map[string]any{"id": c.id, "tenant": c.tenant, "name": c.id, "phone": "+49301234"})
		testkit.Execute(t, app, "UPDATE contacts SET created = {:created} WHERE id = {:id}", map[string]any{"created": c.created, "id": c.id})
	}
	stored := store(t, app, acme, "name,phone\nChanged,+49 30 1234\n")
	begin(t, app, stored, "phone", check)
	if got := work(t, app, stored.ID); got.Counts != (imports.Counts{RowsUpdated: 1}) {
		t.Errorf("the dry run counts %+v", got.Counts)
	}
	begin(t, app, stored, "phone", start)
	if got := work(t, app, stored.ID); got.Counts != (imports.Counts{RowsUpdated: 1}) {
		t.Errorf("the import counts %+v", got.Counts)
	}
	var changed []string
	if err := app.DB().NewQuery("SELECT id FROM contacts WHERE name = 'Changed'").Column(&changed); err != nil || !slices.Equal(changed, []string{"ccccccccccccccc"}) {
		t.Errorf("changed are %v (%v)", changed, err)
	}
}

// A warning quotes values of a contact, and is deleted with it.
func TestNotesOfDeletedContactsGo(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	stored := store(t, app, testkit.Tenant(t, app, "Acme"), "name,email\nAnn,a@example.com; other@example.com\nBob,b@example.com; third@example.com\n")
	begin(t, app, stored, "", start)
	if done := work(t, app, stored.ID); done.Warnings != 2 {
		t.Fatalf("the import is %+v", done)
	}
	ann, err := app.FindFirstRecordByData("contacts", "name", "Ann")
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Delete(ann); err != nil {
		t.Fatal(err)
	}
	testkit.Sweep(t, app)
	if notes := find(t, app, stored.ID).Notes; len(notes) != 1 || notes[0].Row != 3 || !strings.Contains(notes[0].Text, "third@") {
		t.Errorf("left are %+v", notes)
	}
	for i, index := range []string{"idx__importNotes_contact", "idx__importCreated_contact", "idx__importContacts_contact"} {
		var plan []struct {
			Detail string `db:"detail"`
		}
		statement := strings.NewReplacer("?1", "'[]'", "?2", "1").Replace(imports.EraseSQL[i])
		err := app.DB().NewQuery("EXPLAIN QUERY PLAN " + statement).All(&plan)
		if err != nil || !strings.Contains(fmt.Sprint(plan), index) {
			t.Errorf("the plan is %v (%v)", plan, err)
		}
	}
}

// While an import runs, it has no row of a contact that was deleted.
func TestRowsOfDeletedContactsGo(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	stored := store(t, app, testkit.Tenant(t, app, "Acme"), large(5_000))
	begin(t, app, stored, "", start)
	_, stop := working(t, app)
	begun(t, app, stored.ID)
	_ = stop()
	kept := func() int { return testkit.Count(t, app, "SELECT count(*) FROM _importContacts", nil) }
	before := kept()
	first, err := app.FindFirstRecordByData("contacts", "externalId", "0")
	if err != nil || before == 0 {
		t.Fatalf("%d rows, %v", before, err)
	}
	if err := app.Delete(first); err != nil {
		t.Fatal(err)
	}
	testkit.Sweep(t, app)
	if after := kept(); after != before-1 {
		t.Errorf("of %d rows %d are left", before, after)
	}
}
