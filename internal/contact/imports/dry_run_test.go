package imports_test

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// pools are values of which a random sheet has each many times.
type pools struct{ *rand.Rand }

func (p pools) any(values ...string) string { return values[p.IntN(len(values))] }

func (p pools) externalID() string { return p.any("", "e", "E", "x") + fmt.Sprint(p.IntN(60)) }

func (p pools) email() string {
	return p.any("a", "A", "b", "straße", "STRASSE") + fmt.Sprint(p.IntN(40)) + p.any("@example.com", "@Example.com")
}

func (p pools) contact() map[string]any {
	values := map[string]any{"name": p.any("Ada", "Grace", "Hedy")}
	if p.IntN(3) > 0 {
		values["email"] = p.email()
	}
	if p.IntN(3) > 0 {
		values["company"] = p.any("Acme", "ACME", "Initech", "Hooli") + fmt.Sprint(p.IntN(3))
	}
	if p.IntN(2) > 0 {
		values["phone"] = fmt.Sprint("+4930", 100+p.IntN(30))
	}
	return values
}

// sheet returns a sheet of rows that collide with each other and with the contacts that have these ids.
func (p pools) sheet(rows int, columns []string, ids []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(columns)
	for range rows {
		values := p.contact()
		if p.IntN(4) > 0 {
			values["externalId"] = p.externalID()
		}
		if p.IntN(2) > 0 {
			values["id"] = p.any(append(slices.Clone(ids), "nobody000000000")...)
		}
		values["code"] = p.any("", "1", "2.0", "2", "3", "44", "wrong")
		if p.IntN(9) == 0 {
			delete(values, "name")
		}
		cells := make([]string, len(columns))
		for i, column := range columns {
			if value, found := values[column]; found && p.IntN(6) > 0 {
				cells[i] = fmt.Sprint(value)
			}
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return b.String()
}

// uniques are what admins may add to the contacts. A dry run does not foresee what an index with an expression refuses.
var uniques = map[string][]string{
	"shipped":               nil,
	"e-mail, folded":        {"CREATE UNIQUE INDEX `mine` ON `contacts` (`tenant`, `email` COLLATE NOCASE) WHERE `email` != ''"},
	"number, also zero":     {"CREATE UNIQUE INDEX `mine` ON `contacts` (`tenant`, `code`)"},
	"two columns":           {"CREATE UNIQUE INDEX `mine` ON `contacts` (`tenant`, `company` COLLATE NOCASE, `phone`)"},
	"conditional":           {"CREATE UNIQUE INDEX `mine` ON `contacts` (`tenant`, `phone`) WHERE `company` = 'Acme1'"},
	"phone, of all tenants": {"CREATE UNIQUE INDEX `mine` ON `contacts` (`phone`) WHERE `phone` != ''"},
}

// dump returns everything that an import of contacts writes, and what follows from that.
func dump(t *testing.T, app core.App) string {
	t.Helper()
	var all []string
	for _, table := range []string{"contacts", "_contactSearch", "events", "deliveries", "_contactIndexed", "_contactUnindexed", "sqlite_sequence"} {
		names, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()), "SELECT name FROM pragma_table_info(?)", table)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 {
			continue
		}
		for i, name := range names {
			names[i] = "quote(`" + name + "`)"
		}
		rows, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()), "SELECT "+strings.Join(names, " || ',' || ")+" FROM `"+table+"` ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, append([]string{table}, rows...)...)
	}
	return strings.Join(all, "\n")
}

// A dry run counts exactly what the import then does, and refuses the same rows for the same reasons, whatever the
// rows have to do with each other. It leaves nothing behind.
func TestDryRunIsTheImport(t *testing.T) {
	t.Parallel()
	for what, definitions := range uniques {
		matches := []string{"id", "externalId", "email"}
		if definitions != nil { // one is enough: each run takes another
			rand.Shuffle(len(matches), func(i, j int) { matches[i], matches[j] = matches[j], matches[i] })
			matches = matches[:1]
		}
		for _, match := range matches {
			t.Run(what+" by "+match, func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				p := pools{rand.New(rand.NewPCG(seed, 0))}
				woken := 0
				app := testkit.NewApp(t, func() { woken++ })
				acme, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
				if definitions != nil {
					testkit.ChangeContacts(t, app, func(c *core.Collection) {
						c.Fields.Add(&core.NumberField{Name: "code"})
						c.Indexes = append(c.Indexes, definitions...)
					})
				}
				var ids []string
				for n := range 60 {
					values := p.contact()
					values["tenant"], values["code"] = acme, 100+n
					if n%4 == 0 {
						values["tenant"] = other
					}
					if n%3 > 0 {
						values["externalId"] = p.externalID()
					}
					if record := tryRecord(t, app, values); record != nil {
						ids = append(ids, record.Id)
					}
				}
				columns := []string{"id", "name", "email", "phone", "company", "externalId", "createdAt", "updatedAt"}
				if definitions != nil {
					columns = append(columns, "code")
				}
				stored := store(t, app, acme, p.sheet(400, columns, ids))
				before, wokenBefore := dump(t, app), woken
				begin(t, app, stored, match, check)
				checked, refused := work(t, app, stored.ID), refusedRows(t, app, stored.ID)
				if after := dump(t, app); after != before || woken != wokenBefore {
					t.Errorf("seed %d: the dry run leaves\n%s\ninstead of\n%s", seed, after, before)
				}
				begin(t, app, stored, match, start)
				done := work(t, app, stored.ID)
				if checked.Status != imports.Checked || done.Status != imports.Done || checked.Counts != done.Counts {
					t.Errorf("seed %d: the dry run counts %+v, the import %+v", seed, checked.Counts, done.Counts)
				}
				if really := refusedRows(t, app, stored.ID); refused != really {
					t.Errorf("seed %d: the dry run refuses\n%s\nthe import\n%s", seed, refused, really)
				}
				if done.RowsRefused == 0 || done.RowsUpdated == 0 {
					t.Errorf("seed %d: the import did only %+v", seed, done.Counts)
				}
			})
		}
	}
}

// tryRecord creates a contact, nil where it collides with another one.
func tryRecord(t *testing.T, app core.App, values map[string]any) *core.Record {
	t.Helper()
	collection, err := app.FindCollectionByNameOrId("contacts")
	if err != nil {
		t.Fatal(err)
	}
	record := core.NewRecord(collection)
	record.Load(values)
	if app.Save(record) != nil {
		return nil
	}
	return record
}

func refusedRows(t *testing.T, app core.App, id string) string {
	t.Helper()
	var b strings.Builder
	if err := imports.WriteRefused(app, id, sheet.CSV, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A check says which row was the first to have a contact as the import does, also where rows of different pages have
// changed those that share an address, the younger one first.
func TestOldestAcrossPages(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	two := store(t, app, acme, "externalId,name,email\nold,Ada,a@example.com\nyoung,Ada,A@example.com\n")
	begin(t, app, two, "externalId", start)
	if err := imports.Work(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	filler := func(from int) string {
		var b strings.Builder
		for n := range 200 {
			fmt.Fprintf(&b, "%d,Filler,\n", from+n)
		}
		return b.String()
	}
	text := "externalId,name,email\nyoung,Grace,\n" + filler(0) + "old,Hedy,\n" + filler(200) + ",Zoe,a@example.com\n"
	stored := store(t, app, acme, text)
	var said [2]string
	for i, begins := range []beginning{check, start} {
		begin(t, app, stored, "", begins)
		work(t, app, stored.ID)
		notes, err := imports.Notes(app, stored.ID, imports.MaxNotes)
		if err != nil || len(notes) != 1 {
			t.Fatalf("the notes are %v (%v)", notes, err)
		}
		said[i] = notes[0].Text
	}
	if said[0] != said[1] || said[1] != "is the same contact as row 203" {
		t.Errorf("the check says that a row %s, the import that it %s", said[0], said[1])
	}
}

// A check that forgets contacts, because the rows create too many, says that its counts are estimates.
func TestCheckThatForgets(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	for _, tc := range []struct {
		remembered, created, notes int
	}{{1_000, 500, 500}, {100, 1_000, 1}} {
		var b strings.Builder
		b.WriteString("name,externalId\n")
		for n := range 1_000 {
			fmt.Fprintf(&b, "Ada,%d\n", n%500)
		}
		stored := store(t, app, testkit.Tenant(t, app, "Acme"), b.String())
		begin(t, app, stored, "externalId", check)
		if err := imports.CheckRemembering(app, stored.ID, tc.remembered); err != nil {
			t.Fatal(err)
		}
		checked := find(t, app, stored.ID)
		if checked.Status != imports.Checked || checked.RowsCreated != tc.created || checked.Total != 1_000 {
			t.Errorf("a check that remembers %d contacts counts %+v", tc.remembered, checked.Counts)
		}
		notes, err := imports.Notes(app, stored.ID, imports.MaxNotes)
		if err != nil || len(notes) != tc.notes || (notes[0].Row == 1) != (tc.notes == 1) {
			t.Errorf("a check that remembers %d contacts has %d notes, the first %+v (%v)",
				tc.remembered, len(notes), notes[:1], err)
		}
	}
}
