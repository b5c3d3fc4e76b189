package hooks_test

import (
	"maps"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/retention"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
	"contactbase/internal/webhook"
)

// change saves a record with a new value, or deletes it if there is none.
func change(collection, name string, value any) func(t *testing.T, app core.App, id string) error {
	return func(t *testing.T, app core.App, id string) error {
		t.Helper()
		record, err := app.FindRecordById(collection, id)
		if err != nil {
			return err
		}
		if name == "" {
			return app.Delete(record)
		}
		record.Set(name, value)
		return app.Save(record)
	}
}

// recipientCases are the ways to change who receives events: the state before, and whether the event before
// the change is told.
var recipientCases = map[string]struct {
	webhook, tenant map[string]any // nil for no webhook
	collection      string         // of the changed record
	change          func(t *testing.T, app core.App, id string) error
	told            bool
}{
	"a webhook is disabled":           {map[string]any{}, nil, webhook.CollectionName, change(webhook.CollectionName, "disabled", true), false},
	"a webhook is enabled":            {map[string]any{"disabled": true}, nil, webhook.CollectionName, change(webhook.CollectionName, "disabled", false), false},
	"a webhook asks for other kinds":  {map[string]any{}, nil, webhook.CollectionName, change(webhook.CollectionName, "events", []string{"contact.deleted"}), false},
	"a webhook asks for more kinds":   {map[string]any{"events": []string{"contact.deleted"}}, nil, webhook.CollectionName, change(webhook.CollectionName, "events", nil), true},
	"a webhook is deleted":            {map[string]any{}, nil, webhook.CollectionName, change(webhook.CollectionName, "", nil), false},
	"a tenant loses the paid feature": {map[string]any{}, nil, tenant.CollectionName, change(tenant.CollectionName, "apiEnabled", false), false},
	"a tenant gets the paid feature":  {map[string]any{}, map[string]any{"apiEnabled": false}, tenant.CollectionName, change(tenant.CollectionName, "apiEnabled", true), true},
	"a tenant is deleted":             {map[string]any{}, nil, tenant.CollectionName, change(tenant.CollectionName, "", nil), false},
	"a webhook is created": {nil, nil, tenant.CollectionName, func(t *testing.T, app core.App, id string) error {
		testkit.Webhook(t, app, id, "https://hooks.example.com", "")
		return nil
	}, false},
}

// A change applies to what is not fanned out yet, whichever process makes it. No webhook gets events from before it
// was made or enabled.
func TestChangesOfRecipients(t *testing.T) {
	t.Parallel()
	for name, c := range recipientCases {
		for where, in := range map[string]func(t *testing.T, app core.App, do func(core.App) error) error{
			"":                    func(_ *testing.T, app core.App, do func(core.App) error) error { return do(app) },
			" in a transaction":   func(_ *testing.T, app core.App, do func(core.App) error) error { return app.RunInTransaction(do) },
			" by another process": func(t *testing.T, app core.App, do func(core.App) error) error { return do(testkit.Reopen(t, app)) },
		} {
			t.Run(name+where, func(t *testing.T) {
				t.Parallel()
				app := testkit.NewApp(t)
				values := map[string]any{"name": "Acme", "apiEnabled": true}
				maps.Copy(values, c.tenant)
				ids := map[string]string{tenant.CollectionName: testkit.Record(t, app, tenant.CollectionName, values).Id}
				if c.webhook != nil {
					values := map[string]any{"tenant": ids[tenant.CollectionName], "url": "https://hooks.example.com"}
					maps.Copy(values, c.webhook)
					ids[webhook.CollectionName] = testkit.Record(t, app, webhook.CollectionName, values).Id
				}
				testkit.Record(t, app, "contacts", map[string]any{"tenant": ids[tenant.CollectionName], "name": "Ada"})
				if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries", nil); n != 0 {
					t.Fatalf("the event has %d deliveries before it is placed", n)
				}
				err := in(t, app, func(app core.App) error { return c.change(t, app, ids[c.collection]) })
				if err != nil {
					t.Fatal(err)
				}
				testkit.FanOut(t, app)
				if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries", nil); (n == 1) != c.told || n > 1 {
					t.Errorf("the event has %d deliveries; it is to have one: %v", n, c.told)
				}
			})
		}
	}
}

// Deleting a contact with pending events keeps what a webhook has yet to receive, and erases the rest once
// it is fanned out.
func TestDeletedContactsAreErased(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme, quiet := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Quiet")
	testkit.Webhook(t, app, acme, "https://hooks.example.com", "")
	for _, tenantID := range []string{acme, quiet} {
		ada := testkit.Record(t, app, "contacts", map[string]any{"tenant": tenantID, "name": "Ada Lovelace"})
		if err := app.Delete(ada); err != nil {
			t.Fatal(err)
		}
	}
	sweep := func(left int) {
		t.Helper()
		if err := retention.Sweep(t.Context(), app, testkit.Deliveries(app)); err != nil {
			t.Fatal(err)
		}
		if n := testkit.Count(t, app, "SELECT count(*) FROM _deletions", nil); n != left {
			t.Errorf("%d deletions are left, want %d", n, left)
		}
	}
	sweep(2)
	testkit.FanOut(t, app)
	sweep(0)
	for tenantID, want := range map[string]int{acme: 2, quiet: 0} {
		n := testkit.Count(t, app, "SELECT count(*) FROM events WHERE tenant = {:tenant} AND payload LIKE '%Ada Lovelace%'", dbx.Params{"tenant": tenantID})
		pending := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE tenant = {:tenant} AND status = 'pending'", dbx.Params{"tenant": tenantID})
		if n != want || pending != want {
			t.Errorf("%d events name the person, and %d deliveries are pending; want %d", n, pending, want)
		}
	}
}
