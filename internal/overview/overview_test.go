package overview_test

import (
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/overview"
	"contactbase/internal/testkit"
)

// The counts of tenants end at 10,000, and are read from an index alone.
func TestCountsOfTenants(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	large, small := testkit.Tenant(t, app, "Large"), testkit.Tenant(t, app, "Small")
	for tenantID, contacts := range map[string]int{large: 10_001, small: 9_999} {
		_, err := app.DB().NewQuery("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:count}) " +
			"INSERT INTO contacts (id, tenant, name) SELECT {:tenant} || i, {:tenant}, 'A' FROM n").
			Bind(dbx.Params{"tenant": tenantID, "count": contacts}).Execute()
		if err != nil {
			t.Fatal(err)
		}
	}
	counts, err := overview.Tenants(app, []string{large, small})
	if err != nil || counts[0].Contacts != 10_000 || counts[1].Contacts != 9_999 {
		t.Errorf("counted are %v (%v)", counts, err)
	}
	for _, table := range []string{"contacts", "api_keys", "webhooks", "inbound_webhooks"} {
		var plan []struct {
			Detail string `db:"detail"`
		}
		err := app.DB().NewQuery("EXPLAIN QUERY PLAN SELECT " + overview.CountOf(table)).Bind(dbx.Params{"tenant": large, "cap": 1}).All(&plan)
		if err != nil {
			t.Fatal(err)
		}
		covered := false
		for _, step := range plan {
			covered = covered || strings.Contains(step.Detail, "SEARCH "+table+" USING COVERING INDEX")
		}
		if !covered {
			t.Errorf("%s is counted by %v", table, plan)
		}
	}
}

// The deliveries of a type are looked for among a bounded number, page by page, and none is left out.
func TestDeliveriesOfAType(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	webhook := testkit.Webhook(t, app, tenant, "https://example.com", "")
	// the deleted ones are the newest, the first behind 200 others and the oldest; many are made in the same millisecond
	testkit.Execute(t, app, `INSERT INTO events (id, tenant, type, payload, created)
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
		SELECT printf('e%014d', i), {:tenant}, iif(i IN (0, 249, 450), 'contact.deleted', 'contact.updated'), '{}', printf('2026-03-04 %02d:00:00.000Z', i / 100) FROM n`,
		dbx.Params{"tenant": tenant})
	testkit.Execute(t, app, `INSERT INTO deliveries (id, event, webhook, tenant, status, created) SELECT 'd' || substr(id, 2), id, {:webhook}, tenant, 'delivered', created FROM events`,
		dbx.Params{"webhook": webhook})
	found, pages := []string{}, 0
	for q := (overview.Query{Webhook: webhook, Type: "contact.deleted", Limit: 30}); ; pages++ {
		page, err := overview.DeliveriesAmong(app, q, 200)
		if err != nil || pages > 5 {
			t.Fatal(err)
		}
		for _, d := range page.Deliveries {
			found = append(found, strings.TrimLeft(d.ID, "d0"))
		}
		if page.Next == nil {
			break
		}
		q.Cursor = *page.Next
	}
	if got := strings.Join(found, " "); got != "450 249 " || pages != 2 {
		t.Errorf("on %d pages there are %q", pages+1, got)
	}
}
