package list_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// A large tenant is searched through the index of trigrams. What it finds, in which order and on which page, is what
// reading every row finds: for rows that are indexed, not yet indexed, changed and deleted since.
func TestSearchThroughTheIndexFindsTheSame(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	large, small := testkit.Tenant(t, app, "Large"), testkit.Tenant(t, app, "Small")
	var ids []string
	insert := func(tenant string, from, to int) {
		t.Helper()
		err := app.RunInTransaction(func(tx core.App) error {
			for i := from; i < to; i++ {
				name := fmt.Sprintf("Zoë Nummer%d", i)
				if i%100 == 7 { // creates rare words of one and two letters
					name += " Qü"
				}
				created, err := testkit.Create(tx, tenant, contact.Changes{
					"name": name, "email": fmt.Sprintf("n%d@example.com", i%97), "phone": fmt.Sprintf("+49300%06d", i),
				})
				if err != nil {
					return err
				}
				ids = append(ids, created.ID)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	index := func() {
		t.Helper()
		if err := sqlite.InChunks(t.Context(), app, search.IndexPending); err != nil {
			t.Fatal(err)
		}
	}
	// the bulk of the large tenant is there for its size alone
	_, err := app.NonconcurrentDB().NewQuery("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) " +
		"INSERT INTO _contactSearch (contact, tenant, email, text) SELECT 'bulk' || i, {:tenant}, '', 'bulk' FROM n").Bind(dbx.Params{"tenant": large}).Execute()
	if err != nil {
		t.Fatal(err)
	}
	insert(large, 0, 300)
	insert(small, 0, 300)
	index()
	insert(large, 300, 400)
	err = app.RunInTransaction(func(tx core.App) error {
		for i := 0; i < 100; i += 10 {
			if _, _, err := testkit.Update(tx, large, ids[i], contact.Changes{"name": fmt.Sprintf("Renamed%d", i)}); err != nil {
				return err
			}
			if err := testkit.Delete(tx, ids[i+1]); err != nil {
				return err
			}
			// has the same words all the same
			if _, _, err := testkit.Update(tx, large, ids[i+2], contact.Changes{"company": "Firma"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	compare := func(when string) {
		t.Helper()
		for _, q := range []string{"nummer", "nummer1", "zoe num", "nummer399", "renamed", "n13@example renamed", "nothing", "mmer2 exam", "bulk", "qü", "Q", "ü", "vj", "qu nu", "o", "ze", "王", "re"} {
			for _, sort := range []string{"createdAt", "-createdAt"} {
				for _, limit := range []string{"7", "200"} {
					through := walk(t, app, large, url.Values{"q": {q}, "sort": {sort}, "limit": {limit}})
					// another filter that changes nothing keeps the query away from the index
					reading := walk(t, app, large, url.Values{"q": {q}, "sort": {sort}, "limit": {limit}, "updatedSince": {"2000-01-01T00:00:00Z"}})
					if fmt.Sprint(through) != fmt.Sprint(reading) {
						t.Errorf("%s: %q by %s finds %d contacts, not the %d of reading", when, q, sort, len(through), len(reading))
					}
					if count, more := counted(t, app, large, url.Values{"q": {q}}); q != "bulk" && (count != len(through) || more) {
						t.Errorf("%s: %q finds %d contacts, and counts %d (%v)", when, q, len(through), count, more)
					}
				}
			}
		}
		for word, want := range map[string]int{"nummer": 400 - 20, "qu": 4} {
			if found := walk(t, app, large, url.Values{"q": {word}}); len(found) != want {
				t.Errorf("%s: %q finds %d contacts", when, word, len(found))
			}
		}
	}
	compare("before the index follows")
	index()
	compare("after the index followed")
	replaceNewest(t, app, large, ids[len(ids)-3:])
	compare("with numbers that are given again")
	index()
	compare("with numbers that are given again, indexed")
	all, lists := walk(t, app, large, url.Values{"q": {"nummer"}}), new(list.Reader)
	for _, offset := range []int{10, 250, 300} {
		page, err := lists.Page(app, large,
			list.Query{Limit: 5, Offset: offset, Sort: "createdAt", Filter: list.Filter{Words: []string{"nummer"}}})
		if err != nil || len(page.Contacts) != 5 || page.Contacts[0].ID != all[offset] || page.Contacts[4].ID != all[offset+4] {
			t.Errorf("the offset %d gives other contacts (%v)", offset, err)
		}
	}
	// 13 and 110
	if found := walk(t, app, large, url.Values{"q": {"nummer1"}, "email": {"n13@example.com"}}); len(found) != 2 {
		t.Errorf("with an address besides the words %d contacts are found", len(found))
	}
}

// counted counts the contacts of a query.
func counted(t *testing.T, app core.App, tenantID string, values url.Values) (count int, more bool) {
	t.Helper()
	filter, err := list.ParseFilters(app, values)
	if err != nil {
		t.Fatal(err)
	}
	if count, more, err = new(list.Reader).Count(app, tenantID, filter); err != nil {
		t.Fatal(err)
	}
	return count, more
}

// A count is exact up to 100,000 contacts, and ends there.
func TestCountEnds(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.Other().Add(map[string]any{"name": "Ada"})
	fill := func(from, to int) {
		t.Helper()
		_, err := b.App.NonconcurrentDB().NewQuery("WITH RECURSIVE n(i) AS (SELECT {:from} UNION ALL SELECT i + 1 FROM n WHERE i < {:to}) " +
			"INSERT INTO contacts (id, tenant, name, phone) SELECT 'bulk' || i, {:tenant}, 'Ada', '+49301' FROM n").
			Bind(dbx.Params{"from": from, "to": to, "tenant": b.Tenant}).Execute()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want int, wantMore bool) {
		t.Helper()
		for _, query := range []string{"", "phone=%2B49301", "createdBefore=2100-01-01T00:00:00Z"} {
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			if count, more := counted(t, b.App, b.Tenant, values); count != want || more != wantMore {
				t.Errorf("%q counts %d (%v), not %d (%v)", query, count, more, want, wantMore)
			}
		}
	}
	expect(0, false)
	fill(1, 100_000)
	expect(100_000, false)
	fill(100_001, 100_001)
	expect(100_000, true)
}

// replaceNewest deletes the newest contacts and creates as many others, whose search rows get their numbers.
func replaceNewest(t *testing.T, app core.App, tenant string, ids []string) {
	t.Helper()
	const numbersSQL = "SELECT group_concat(seq) FROM (SELECT seq FROM _contactSearch ORDER BY seq DESC LIMIT 3)"
	var before, after string
	if err := app.DB().NewQuery(numbersSQL).Row(&before); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := testkit.Delete(app, id); err != nil {
			t.Fatal(err)
		}
	}
	for i := range ids {
		if _, err := testkit.Create(app, tenant, contact.Changes{"name": fmt.Sprintf("Zoë Nummer%d", 1000+i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := app.DB().NewQuery(numbersSQL).Row(&after); err != nil || after != before {
		t.Fatalf("the numbers are %s, not %s (%v)", after, before, err)
	}
}

// walk lists all pages by cursor and returns the ids.
func walk(t *testing.T, app core.App, tenantID string, values url.Values) []string {
	t.Helper()
	var ids []string
	var lists list.Reader
	for {
		query, err := list.ParsePage(app, values)
		if err != nil {
			t.Fatal(err)
		}
		page, err := lists.Page(app, tenantID, query)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Contacts {
			ids = append(ids, c.ID)
		}
		if page.Next == nil {
			return ids
		}
		values.Set("cursor", page.Next.String())
	}
}
