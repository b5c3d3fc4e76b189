package contact_test

import (
	"fmt"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// Items are written up to the one after which the time is over, deletions included, and the others are left alone.
func TestWriteUntilTheTimeIsOver(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]contact.Action{"updates": contact.Update, "deletions": contact.Delete} {
		b := newBook(t)
		var items []contact.Item
		for i := range 5 {
			c := b.Add(map[string]any{"name": fmt.Sprint("Person ", i)})
			items = append(items, contact.Item{
				Action: action, Keys: []contact.Key{{Field: contact.ID, Value: c.ID}}, Changes: contact.Changes{"name": "Changed"},
			})
		}
		looked := 0
		var results []contact.Result
		err := b.App.RunInTransaction(func(tx core.App) (err error) {
			results, err = contact.WriteUntil(tx, b.Tenant, items, func() bool { looked++; return looked >= 3 })
			return err
		})
		if err != nil || len(results) != 3 || contact.AnyFailed(results) {
			t.Errorf("%s: %d results, %v", name, len(results), err)
		}
		if n := testkit.Count(t, b.App, "SELECT count(*) FROM contacts WHERE name LIKE 'Person%'", nil); n != 2 {
			t.Errorf("%s: %d contacts are left alone, not 2", name, n)
		}
	}
}
