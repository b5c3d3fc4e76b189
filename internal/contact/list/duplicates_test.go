package list_test

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"contactbase/internal/contact/list"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// The contacts of a group are found by their row numbers, however many others share its key.
func TestContactsOfDuplicatesAreFoundDirectly(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	for _, by := range []string{"email", "phone", "name"} {
		err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), "EXPLAIN QUERY PLAN "+second(list.DuplicatesSQL(by)),
			func(rows *sql.Rows) error {
				var id, parent, unused int
				var step string
				if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
					return err
				}
				isDirect := strings.Contains(step, "USING INTEGER PRIMARY KEY (rowid=?)") || strings.HasSuffix(step, "(id=?)")
				if !isDirect && !strings.HasPrefix(step, "SCAN j VIRTUAL TABLE") && !strings.HasSuffix(step, "FOR ORDER BY") {
					t.Errorf("by %s: %s", by, step)
				}
				return nil
			}, "tenant", "[]")
		if err != nil {
			t.Fatal(err)
		}
	}
}

func second(_, contacts string) string { return contacts }

// The rows that are compared are read once, in the order of an index: neither sorted nor counted by SQLite, which takes
// seconds for 150,000 contacts with one name.
func TestDuplicatesAreReadInOrder(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	for by, want := range map[string]string{
		"email": "SEARCH r USING COVERING INDEX idx__contactSearch_email (tenant=? AND email>?)",
		"phone": "SEARCH r USING COVERING INDEX idx_contacts_phone (tenant=? AND phone>?)",
		"name":  "SEARCH r USING COVERING INDEX idx__contactSearch_name (tenant=? AND name>?); SEARCH c USING INDEX sqlite_autoindex_contacts_1 (id=?)",
	} {
		rows, _ := list.DuplicatesSQL(by)
		var steps []string
		err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), "EXPLAIN QUERY PLAN "+rows, func(rows *sql.Rows) error {
			var id, parent, unused int
			var step string
			err := rows.Scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		}, "tenant", "", nil)
		if err != nil || strings.Join(steps, "; ") != want {
			t.Errorf("by %s: %q, %v", by, steps, err)
		}
	}
}

// All pages together have each group once, with its count and its oldest members, however many contacts, companies and
// groups a page has.
func TestDuplicatesAreComplete(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Crowd(t, app, tenant, 3_000, map[string]string{
		"id":      "printf('c%014d', (i * 7919) % 100003)", // not in the order of creation
		"name":    "iif(i % 3, 'Shared', iif(i % 2, 'shared', 'Name ' || (i % 40)))",
		"company": "iif(i % 5, 'Company ' || (i * i % 101), '')",
		"email":   "'p' || (i % 400) || '@example.com'", "phone": "iif(i % 2, '', '+49' || (3000000000 + i % 300))",
	})
	tx := sqlite.Direct(app.ConcurrentDB())
	for by, key := range map[string][3]string{
		"email": {"lower(email)", "''", "(SELECT seq FROM _contactSearch WHERE contact = contacts.id)"}, "phone": {"phone", "''", "rowid"},
		"name": {"lower(name)", "lower(company)", "(SELECT seq FROM _contactSearch WHERE contact = contacts.id)"},
	} {
		var want []list.CandidateGroup
		err := sqlite.Each(tx, "SELECT "+key[0]+", "+key[1]+", "+key[2]+
			" FROM contacts WHERE tenant = ? AND "+key[0]+" != '' ORDER BY 1, 2, created, id",
			func(rows *sql.Rows) error {
				var g list.CandidateGroup
				var number int64
				if err := rows.Scan(&g.Key, &g.Second, &number); err != nil {
					return err
				}
				if n := len(want); n == 0 || want[n-1].Key != g.Key || want[n-1].Second != g.Second {
					want = append(want, g)
				}
				last := &want[len(want)-1]
				if last.Count++; last.Count <= list.MostMembers {
					last.Members = append(last.Members, number)
				}
				return nil
			}, tenant)
		if err != nil {
			t.Fatal(err)
		}
		groups := want[:0]
		for _, g := range want {
			if g.Count > 1 {
				groups = append(groups, g)
			}
		}
		for _, bounds := range [][3]int{{20, 100_000, 20_000}, {1, 10, 2}, {7, 100, 5}, {100, 1, 1}} {
			found, pages := list.ScanAll(t, tx, tenant, by, bounds[0], bounds[1], bounds[2])
			if !reflect.DeepEqual(found, groups) {
				t.Errorf("by %s with bounds of %v, %d pages have %d groups, not %d: %.300s",
					by, bounds, pages, len(found), len(groups), fmt.Sprint(found))
			}
		}
	}
}
