package inbound_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// Many deletions share a transaction, in their order among other items. The sweeper erases what is stored
// about the contacts.
func TestManyDeletions(t *testing.T) {
	t.Parallel()
	for _, related := range []bool{false, true} {
		t.Run(fmt.Sprintf("related=%t", related), func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			tenant := testkit.Tenant(t, app, "Acme")
			if related {
				testkit.AddRelated(t, app, "deals", "contacts", core.RelationField{Name: "about", MaxSelect: 1})
			}
			webhook, err := inbound.FindByToken(app, testkit.Inbound(t, app, tenant, inbound.AccessFull, nil))
			if err != nil {
				t.Fatal(err)
			}
			receive := func(items []map[string]string) *inbound.Outcome {
				body, err := json.Marshal(items)
				if err != nil {
					t.Fatal(err)
				}
				read, err := inbound.Read(app, webhook, "application/json", body)
				if err != nil {
					t.Fatal(err)
				}
				var receipt *inbound.Receipt
				err = app.RunInTransaction(func(tx core.App) (err error) {
					receipt, err = read.Receive(tx, time.Now())
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				return receipt.Outcome
			}
			var created, changed []map[string]string
			for i := range 30 {
				id := fmt.Sprint("e", i)
				created = append(created, map[string]string{"externalId": id, "email": id + "@example.com"})
				changed = append(changed, map[string]string{"externalId": id, "action": "delete"})
				if i == 15 {
					changed = append(changed, created[0])
				}
			}
			receive(created)
			if got := receive(changed); got.Deleted != 30 || got.Created != 1 {
				t.Errorf("the outcome is %+v", got)
			}
			for query, want := range map[string]int{
				"SELECT count(*) FROM contacts":       1,
				"SELECT count(*) FROM _contactSearch": 1,
				"SELECT count(*) FROM _deletions":     30,
				"SELECT count(*) FROM events WHERE type = 'contact.deleted' AND rowid > (SELECT max(rowid) FROM events WHERE type = 'contact.created')": 14,
			} {
				if n := testkit.Count(t, app, query, nil); n != want {
					t.Errorf("%s gives %d, want %d", query, n, want)
				}
			}
			testkit.Sweep(t, app)
			if n := testkit.Count(t, app, "SELECT count(*) FROM events WHERE payload NOT LIKE '%erased%'", nil); n != 1 {
				t.Errorf("%d events still have personal data", n)
			}
		})
	}
}
