package plans_test

import (
	"bufio"
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
	"contactbase/internal/testkit/plans"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testkit.Cleanup()
	os.Exit(code)
}

// SQLite runs each statement of the program by the plan that the ledger has, in a database with 100,000 contacts of one
// tenant and what belongs to them. With CONTACTBASE_PLANS, the test writes the ledger from what the other tests have
// recorded.
func TestPlansAreThoseOfTheLedger(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	crowd(t, app)
	ledger := plans.All()
	folder := os.Getenv("CONTACTBASE_PLANS")
	if folder != "" {
		ledger = recorded(t, folder)
	}
	for text, want := range ledger {
		steps, err := explain(app, text)
		switch {
		case folder != "" && (err != nil || strings.HasPrefix(text, "SELECT coalesce((SELECT `id` FROM `contacts` WHERE")):
			delete(ledger, text) // it needs a field, collection or unique index that only a test has
			continue
		case err != nil:
			t.Errorf("%s: %v", text, err)
		}
		if folder != "" {
			ledger[text] = steps
		} else if !slices.Equal(steps, want) {
			t.Errorf("run task plans if this is better:\n%s\n\tis run by %q\n\tinstead of %q", text, steps, want)
		}
	}
	if folder != "" {
		writeLedger(t, ledger)
	}
}

// Each statement that walks a table has a reason: a bound, and a test that shows it.
func TestWalksHaveReasons(t *testing.T) {
	t.Parallel()
	used, ledger := map[string]bool{}, plans.All()
	maps.Copy(ledger, triggers(t, testkit.NewApp(t)))
	for text, steps := range ledger {
		walks := plans.Walks(text, steps)
		reason, found := plans.ReasonFor(text)
		if len(walks) > 0 && !found {
			t.Errorf("find the rows through an index, or add the bound and its test to walks.txt:\n%s\n\t%s",
				text, strings.Join(walks, "\n\t"))
		}
		used[reason.Start] = true
	}
	tests := testsOfTheModule(t)
	for _, reason := range plans.Reasons() {
		if !tests[reason.Test] {
			t.Errorf("the reason names no test: %+v", reason)
		}
		if !used[reason.Start] {
			t.Errorf("no statement needs the reason %+v", reason)
		}
	}
}

// maxPages is how many pages of the database a statement reads at most that stops after some ten rows. The index with
// the smallest rows has more for 100,000 of them.
const maxPages = 250

// Statements that walk a table, but stop after some rows, read few pages in a database with many rows.
func TestWalksStopEarly(t *testing.T) {
	t.Parallel()
	connect, pages := testkit.ConnectCounting()
	app := testkit.NewAppOn(t, connect)
	crowd(t, app)
	ledger := plans.All()
	maps.Copy(ledger, triggers(t, app))
	for text, steps := range ledger {
		reason, _ := plans.ReasonFor(text)
		if reason.Test != "TestWalksStopEarly" || len(plans.Walks(text, steps)) == 0 {
			continue
		}
		values, err := valuesOf(reason)
		if err != nil {
			t.Errorf("the parameters %s: %v", reason.Values, err)
			continue
		}
		rolledBack := errors.New("rolled back")
		before := pages()
		err = app.RunInTransaction(func(tx core.App) error {
			if err := run(tx, text, values); err != nil {
				return err
			}
			return rolledBack
		})
		if read := pages() - before; !errors.Is(err, rolledBack) || read > maxPages {
			t.Errorf("%s\n\treads %d pages (%v)", text, read, err)
		}
	}
}

// valuesOf returns the parameters of a reason for the database of crowd.
func valuesOf(reason plans.Reason) (args []any, err error) {
	ids := strings.NewReplacer("$tenant", crowdedTenant, "$event", "00000000050000x", "$time", "2026-01-01 12:00:00.000Z")
	return args, json.Unmarshal([]byte(ids.Replace(reason.Values)), &args)
}

// run runs a statement, and reads all its rows.
func run(tx core.App, text string, args []any) error {
	rows, err := sqlite.ReaderOf(tx).Query(text, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsOfTheModule returns the names of all tests.
func testsOfTheModule(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range testName.FindAllSubmatch(text, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// crowdedTenant is the tenant of crowd.
const crowdedTenant = "acme00000000000"

// crowd adds 100,000 contacts of a tenant, and events, deliveries, attempts and requests in proportion.
func crowd(t *testing.T, app core.App) {
	t.Helper()
	tenants, err := app.FindCollectionByNameOrId("tenants")
	if err != nil {
		t.Fatal(err)
	}
	testkit.AddFields(t, app, &core.RelationField{Name: "payer", CollectionId: tenants.Id, MaxSelect: 1}) // an admin's
	testkit.Record(t, app, "tenants", map[string]any{"id": crowdedTenant, "name": "Acme", "apiEnabled": true})
	testkit.Crowd(t, app, crowdedTenant, 100_000, nil)
	const of = " SELECT substr(id, 2) || 'x', tenant, "
	for _, statement := range []string{
		"INSERT INTO events (id, tenant, contact, type, payload, created)" + of +
			"id, 'contact.created', '{}', created FROM contacts",
		"INSERT INTO deliveries (id, tenant, event, webhook, status, created)" + of +
			"id, 'w', 'delivered', created FROM events",
		"INSERT INTO delivery_attempts (id, delivery, started) SELECT substr(id, 2) || 'x', id, created FROM deliveries",
		"INSERT INTO inbound_requests (id, tenant, inbound, created)" + of + "'i', created FROM contacts",
		"UPDATE _fanOutCursor SET event = '00000000050000x'",
	} {
		if _, err := app.NonconcurrentDB().NewQuery(statement).Execute(); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func explain(app core.App, text string) (steps []string, err error) {
	var args []any
	for _, value := range plans.NoValues(text) {
		args = append(args, any(nil))
		if value.Name != "" {
			args[len(args)-1] = sql.Named(value.Name, nil)
		}
	}
	rows, err := app.ConcurrentDB().(*dbx.DB).DB().Query("EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, rows.Err()
}

var (
	body  = regexp.MustCompile(`(?is)\bBEGIN (.*);\s*END$`)
	value = regexp.MustCompile("\\b(OLD|NEW)\\.[`\\[\"]?\\w+[`\\]\"]?")
)

// triggers returns the plans of the statements in triggers, which EXPLAIN QUERY PLAN leaves out, with parameters for
// the values of their rows.
func triggers(t *testing.T, app core.App) map[string][]string {
	t.Helper()
	sources, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()),
		"SELECT sql FROM sqlite_schema WHERE type = 'trigger'")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, source := range sources {
		for _, statement := range strings.Split(body.FindStringSubmatch(source)[1], ";") {
			text := strings.Join(strings.Fields(value.ReplaceAllString(statement, "?")), " ")
			if strings.HasPrefix(text, "SELECT RAISE(") {
				continue // only a trigger may run it, and it reads its own row
			}
			if found[text], err = explain(app, text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	return found
}

// recorded returns the shortest statement of each kind that tests have recorded, with its plan.
func recorded(t *testing.T, folder string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no test has recorded anything in %s: %v", folder, err)
	}
	shortest := map[string]plans.Entry{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for decoder := json.NewDecoder(bufio.NewReader(file)); decoder.More(); {
			var entry plans.Entry
			if err := decoder.Decode(&entry); err != nil {
				t.Fatal(err)
			}
			entry.Example = spaces.ReplaceAllString(entry.Example, " ")
			other, found := shortest[entry.Statement]
			if !found || cmp.Or(cmp.Compare(len(entry.Example), len(other.Example)),
				cmp.Compare(entry.Example, other.Example)) < 0 {
				shortest[entry.Statement] = entry
			}
		}
		_ = file.Close()
	}
	ledger := map[string][]string{}
	for _, entry := range shortest {
		ledger[strings.TrimSpace(entry.Example)] = entry.Plan
	}
	return ledger
}

var spaces = regexp.MustCompile(`\s+`)

func writeLedger(t *testing.T, ledger map[string][]string) {
	t.Helper()
	var text strings.Builder
	for _, statement := range slices.Sorted(maps.Keys(ledger)) {
		text.WriteString(statement + "\n")
		for _, step := range ledger[statement] {
			text.WriteString("\t" + step + "\n")
		}
		text.WriteString("\n")
	}
	if err := os.WriteFile("statements.txt", []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
