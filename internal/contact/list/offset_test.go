package list_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

// fill creates contacts in one transaction and returns their ids.
func (b *book) fill(from, to int) (ids []string) {
	b.TB.Helper()
	err := b.App.RunInTransaction(func(tx core.App) error {
		for i := from; i < to; i++ {
			changes := contact.Changes{"name": fmt.Sprintf("N%d", i*7919%1009), "company": "Firma"}
			created, err := testkit.Create(tx, b.Tenant, changes)
			if err != nil {
				return err
			}
			ids = append(ids, created.ID)
		}
		return nil
	})
	if err != nil {
		b.TB.Fatal(err)
	}
	return ids
}

// page returns the ids of a page.
func (b *book) page(q list.Query) []string {
	b.TB.Helper()
	page, err := b.Lists.Page(b.App, b.Tenant, q)
	if err != nil {
		b.TB.Fatal(err)
	}
	ids := make([]string, len(page.Contacts))
	for i, c := range page.Contacts {
		ids[i] = c.ID
	}
	return ids
}

// slice returns what page should, from an offset of SQLite's.
func (b *book) slice(q list.Query) (ids []string) {
	b.TB.Helper()
	column, descending := strings.CutPrefix(string(q.Sort), "-")
	column = map[string]string{"createdAt": "created", "updatedAt": "updated", "name": "lower(name) || char(1) || name"}[column]
	direction := ""
	if descending {
		direction = " DESC"
	}
	err := b.App.DB().NewQuery("SELECT id FROM contacts WHERE tenant = {:tenant} " +
		"ORDER BY " + column + direction + ", id" + direction + " LIMIT {:limit} OFFSET {:offset}").
		Bind(dbx.Params{"tenant": b.Tenant, "limit": q.Limit, "offset": q.Offset}).Column(&ids)
	if err != nil {
		b.TB.Fatal(err)
	}
	return ids
}

// An offset leads to the same contacts as one of SQLite, in each order, with a search and without, whatever has been
// written since.
func TestOffsets(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.Other().Add(map[string]any{"name": "N5"})
	ids := b.fill(0, 900)
	random := rand.New(rand.NewPCG(3, 5))
	search := func() []string { return []string{"firma"}[:random.IntN(2)] }
	for step := range 300 {
		i := random.IntN(len(ids))
		var err error
		switch random.IntN(20) {
		case 0:
			err = testkit.Delete(b.App, ids[i])
			ids = slices.Delete(ids, i, i+1)
		case 1:
			_, _, err = testkit.Update(b.App, b.Tenant, ids[i], contact.Changes{"name": fmt.Sprintf("n%d", random.IntN(1009))})
		case 2:
			ids = append(ids, b.fill(2000+step, 2001+step)...)
		}
		if err != nil {
			t.Fatal(err)
		}
		q := list.Query{
			Limit: 1 + random.IntN(60), Offset: random.IntN(1000), Sort: list.Sort(list.Sorts()[random.IntN(len(list.Sorts()))]),
			Filter: list.Filter{Words: search()},
		}
		if got, want := b.page(q), b.slice(q); !slices.Equal(got, want) {
			t.Fatalf("step %d: %+v has %d contacts, not the %d of SQLite's offset, or others", step, q, len(got), len(want))
		}
	}
}
