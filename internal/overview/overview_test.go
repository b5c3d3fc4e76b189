package overview_test

import (
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/overview"
	"contactbase/internal/testkit"
)

// The counts of tenants end at 10,000, and use covering indexes.
func TestTenants(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	large, small := testkit.Tenant(t, app, "Large"), testkit.Tenant(t, app, "Small")
	for tenantID, contacts := range map[string]int{large: 10_001, small: 9_999} {
		testkit.Execute(t, app, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:count}) "+
			"INSERT INTO contacts (id, tenant, name) SELECT {:tenant} || i, {:tenant}, 'A' FROM n",
			dbx.Params{"tenant": tenantID, "count": contacts})
	}
	counts, err := overview.Tenants(app, []string{large, small})
	if err != nil || counts[0].Contacts != 10_000 || counts[1].Contacts != 9_999 {
		t.Errorf("the counts are %v (%v)", counts, err)
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
			t.Errorf("the query plan for %s is %v", table, plan)
		}
	}
}

// rows saves 451 events and their deliveries to a new webhook. Three differ from the others: the newest, the one
// after 200 others, and the oldest. A hundred are created in the same millisecond.
func rows(t *testing.T, app core.App, few, many [2]string) (webhook string) {
	t.Helper()
	tenant := testkit.Tenant(t, app, few[0]+few[1]+many[1])
	webhook = testkit.Webhook(t, app, tenant, "https://example.com", "")
	testkit.Execute(t, app, `INSERT INTO events (id, tenant, type, payload, created)
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
		SELECT printf('%s%010d', substr({:tenant}, 1, 5), i), {:tenant}, iif(i IN (0, 249, 450), {:few}, {:many}), '{}', printf('2026-03-04 %02d:00:00.000Z', i / 100) FROM n`,
		dbx.Params{"tenant": tenant, "few": few[0], "many": many[0]})
	testkit.Execute(t, app, `INSERT INTO deliveries (id, event, webhook, tenant, status, created)
		SELECT id, id, {:webhook}, tenant, iif(substr(id, -3) IN ('000', '249', '450'), {:few}, {:many}), created FROM events WHERE tenant = {:tenant}`,
		dbx.Params{"tenant": tenant, "webhook": webhook, "few": few[1], "many": many[1]})
	return webhook
}

// listed reads all pages of a list, and returns the last digits of the ids and the number of pages.
func listed(t *testing.T, app core.App, q overview.Query, among int64) (found string, pages int) {
	t.Helper()
	for {
		page, err := overview.ScanDeliveries(app, q, among)
		if err != nil || pages > 5 {
			t.Fatal(pages, err)
		}
		pages++
		for _, d := range page.Deliveries {
			found += d.ID[len(d.ID)-3:] + " "
		}
		if page.Next == nil {
			return found, pages
		}
		q.Cursor = *page.Next
	}
}

// A filter without an index scans a limited number of deliveries for each page, and misses none. Pending and failed
// deliveries are found on the first page.
func TestFilterWithoutIndex(t *testing.T) {
	t.Parallel()
	const updated, deleted = "contact.updated", "contact.deleted"
	app := testkit.NewApp(t)
	for name, c := range map[string]struct {
		few, many [2]string
		ask       overview.Query
		pages     int
	}{
		"a type":         {[2]string{deleted, "delivered"}, [2]string{updated, "delivered"}, overview.Query{Type: deleted}, 3},
		"a failed type":  {[2]string{deleted, "failed"}, [2]string{updated, "failed"}, overview.Query{Type: deleted, Status: "failed"}, 3},
		"failed, a type": {[2]string{deleted, "failed"}, [2]string{deleted, "pending"}, overview.Query{Type: deleted, Status: "failed"}, 1},
		"failed":         {[2]string{updated, "failed"}, [2]string{updated, "delivered"}, overview.Query{Status: "failed"}, 1},
		"pending":        {[2]string{updated, "pending"}, [2]string{updated, "delivered"}, overview.Query{Status: "pending"}, 1},
		"delivered":      {[2]string{updated, "delivered"}, [2]string{updated, "failed"}, overview.Query{Status: "delivered"}, 3},
	} {
		c.ask.Webhook, c.ask.Limit = rows(t, app, c.few, c.many), 30
		if found, pages := listed(t, app, c.ask, 200); found != "450 249 000 " || pages != c.pages {
			t.Errorf("%s: on %d pages there are %q", name, pages, found)
		}
	}
}

// More pending deliveries than the sorting limit are scanned like any other status.
func TestManyPending(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	ask := overview.Query{Webhook: rows(t, app, [2]string{"contact.updated", "pending"}, [2]string{"contact.updated", "delivered"}), Status: "pending", Limit: 30}
	testkit.Execute(t, app, `INSERT INTO deliveries (id, event, webhook, tenant, status, created)
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
		SELECT 'old' || i, 'old' || i, {:webhook}, tenant, 'pending', '2025-01-01 00:00:00.000Z' FROM n, webhooks WHERE webhooks.id = {:webhook}`,
		dbx.Params{"webhook": ask.Webhook})
	page, err := overview.ScanDeliveries(app, ask, 200)
	if err != nil || len(page.Deliveries) != 1 || page.Next == nil {
		t.Errorf("the first page is %+v (%v)", page, err)
	}
}
