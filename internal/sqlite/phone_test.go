package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// A contact is found by its phone number with as little work as by its email address, in a tenant with
// 100,000 contacts, of which many may share the number: by a single change, by the rows of an import, and by
// the check of one.
func TestPhonesAreFoundLikeEmails(t *testing.T) {
	t.Parallel()
	connect, pages := testkit.ConnectCounting()
	app := testkit.NewAppOn(t, connect)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Crowd(t, app, tenant, 100_000, map[string]string{
		"email": "iif(i % 2, 'shared', 'p' || i) || '@example.com'",
		"phone": "'+49' || iif(i % 2, 3000000000, 3000000000 + i)",
	})
	items := func(field string, from, count int) (items []contact.Item) {
		for i := from; i < from+count; i++ {
			value := map[string][]string{
				contact.Email: {fmt.Sprintf("p%d@example.com", i), "shared@example.com"},
				contact.Phone: {fmt.Sprint("+49", 3_000_000_000+i), "+493000000000"},
			}[field][i%2]
			items = append(items,
				contact.Item{Action: contact.Update, Keys: []contact.Key{{Field: field, Value: value}},
					Changes: contact.Changes{"name": "New"}})
		}
		return items
	}
	write := func(items []contact.Item) ([]contact.Result, error) {
		var results []contact.Result
		err := app.RunInTransaction(func(tx core.App) (err error) {
			results, err = contact.Write(tx, tenant, items)
			return err
		})
		return results, err
	}
	check := func(items []contact.Item) ([]contact.Result, error) {
		run, err := contact.NewDryRun(app, tenant)
		if err != nil {
			return nil, err
		}
		return run.Plan(t.Context(), items)
	}
	for name, way := range map[string]struct {
		run   func([]contact.Item) ([]contact.Result, error)
		count int
	}{"one": {write, 1}, "rows": {write, 200}, "check": {check, 200}} {
		work := map[string]int{}
		for _, field := range []string{contact.Email, contact.Phone} {
			from := 99_000
			if field == contact.Phone {
				from = 98_000
			}
			before := pages()
			results, err := way.run(items(field, from, way.count))
			if err != nil || contact.AnyFailed(results) {
				t.Fatalf("%s: %v, %v", name, results, err)
			}
			work[field] = pages() - before
		}
		t.Log(name, work)
		if work[contact.Phone] > work[contact.Email]+10*way.count {
			t.Errorf("%s: phones read %d pages, and emails %d", name, work[contact.Phone], work[contact.Email])
		}
	}
}
