package imports_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/testkit"
	"contactbase/internal/testkit/measure"
)

// cost is what work takes: processor time of the process in seconds, and allocated bytes.
type cost [2]float64

func costOf(work func()) (used cost) {
	used[1] = float64(measure.Allocated(func() {
		begin := measure.ProcessorTime()
		work()
		used[0] = (measure.ProcessorTime() - begin).Seconds()
	}))
	return used
}

// keys returns the values of contacts, of which `sharers` have each.
func keys(field string, contacts, sharers int) []string {
	values := make([]string, contacts)
	for n := range values {
		values[n] = fmt.Sprintf("a%d@example.com", n/sharers)
		if field == contact.Phone {
			values[n] = fmt.Sprintf("+4930%07d", n/sharers)
		}
	}
	return values
}

// fill makes contacts with these keys, and the numbers from 0 on as external ids.
func fill(t *testing.T, app core.App, owner, field string, keys []string) {
	t.Helper()
	items := make([]contact.Item, len(keys))
	for n, key := range keys {
		changes := contact.Changes{"name": "Ada", "externalId": fmt.Sprint(n), field: key}
		items[n] = contact.Item{Action: contact.Create, Changes: changes}
	}
	if _, err := write(app, owner, items); err != nil {
		t.Fatal(err)
	}
}

func write(app core.App, owner string, items []contact.Item) (results []contact.Result, err error) {
	err = app.RunInTransaction(func(tx core.App) error {
		results, err = contact.Write(tx, owner, items)
		return err
	})
	return results, err
}

// meter measures work.
type meter func(work func())

// doors are the ways in which contacts are renamed by their external ids, and then looked up by their keys. Each
// returns how many items it has done.
var doors = map[string]func(t *testing.T, app core.App, owner, field string, keys []string, measure meter) (done int){
	"the check of a sheet": func(t *testing.T, app core.App, owner, _ string, keys []string, measure meter) int {
		return importRenaming(t, app, owner, keys, check, measure)
	},
	"the import of a sheet": func(t *testing.T, app core.App, owner, _ string, keys []string, measure meter) int {
		return importRenaming(t, app, owner, keys, start, measure)
	},
	"a dry run": func(t *testing.T, app core.App, owner, field string, keys []string, measure meter) (done int) {
		run, err := contact.NewDryRun(app, owner)
		if err != nil {
			t.Fatal(err)
		}
		measure(func() {
			for page := range slices.Chunk(renamingItems(field, keys), 200) {
				results, err := run.Plan(context.Background(), page)
				if err != nil || contact.AnyFailed(results) {
					t.Fatal(err, results)
				}
				done += len(results)
			}
		})
		return done
	},
	"a transaction": func(t *testing.T, app core.App, owner, field string, keys []string, measure meter) (done int) {
		items := renamingItems(field, keys)
		measure(func() {
			results, err := write(app, owner, items)
			if err != nil || contact.AnyFailed(results) {
				t.Fatal(err, results)
			}
			done = len(results)
		})
		return done
	},
}

func renamingItems(field string, keys []string) []contact.Item {
	items := make([]contact.Item, 0, 2*len(keys))
	for n := range keys {
		id := contact.Key{Field: contact.ExternalID, Value: fmt.Sprint(n)}
		items = append(items, renamingItem(id, "Grace"))
	}
	for _, key := range keys {
		by := contact.Key{Field: field, Value: key}
		items = append(items, renamingItem(by, "Hedy"))
	}
	return items
}

func renamingItem(key contact.Key, name string) contact.Item {
	return contact.Item{Action: contact.Update, Keys: []contact.Key{key}, Changes: contact.Changes{"name": name}}
}

func importRenaming(t *testing.T, app core.App, owner string, keys []string, begins beginning, measure meter) int {
	t.Helper()
	var text strings.Builder
	text.WriteString("externalId,name,email\n")
	for n := range keys {
		fmt.Fprintf(&text, "%d,Grace,\n", n)
	}
	for _, key := range keys {
		fmt.Fprintf(&text, ",Hedy,%s\n", key)
	}
	stored := store(t, app, owner, text.String())
	begin(t, app, stored, "", begins)
	measure(func() {
		if err := imports.Work(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	})
	over := find(t, app, stored.ID)
	return over.RowsUpdated + over.RowsUnchanged
}

// An item costs the same however many contacts share its address or number, also where earlier items have changed all
// of them.
func TestSharedKeysCostNothing(t *testing.T) { // not beside other tests, because it measures the process
	const contacts, rounds = 300, 3
	for door, rename := range doors {
		for _, field := range []string{contact.Email, contact.Phone} {
			if field == contact.Phone && strings.HasSuffix(door, "sheet") {
				continue // the rows of a sheet are found by their numbers or by their external ids
			}
			least := map[int]cost{} // by how many contacts share a key
			for range rounds {
				for _, sharers := range []int{1, 2, contacts} {
					app := testkit.NewApp(t)
					acme, shared := testkit.Tenant(t, app, "Acme"), keys(field, contacts, sharers)
					fill(t, app, acme, field, shared)
					var used cost
					if done := rename(t, app, acme, field, shared, func(work func()) { used = costOf(work) }); done != 2*contacts {
						t.Fatalf("%s has done %d items", door, done)
					}
					if known, found := least[sharers]; found {
						used = cost{min(used[0], known[0]), min(used[1], known[1])}
					}
					least[sharers] = used
				}
			}
			for _, sharers := range []int{2, contacts} {
				for kind, unit := range []string{"s of the processor", "allocated bytes"} {
					if alone, shared := least[1][kind], least[sharers][kind]; shared > 3*alone {
						t.Errorf("%s takes %.4g %s where %d contacts share each %s, and %.4g where none does",
							door, shared, unit, sharers, field, alone)
					}
				}
			}
		}
	}
}
