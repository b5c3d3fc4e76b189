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
