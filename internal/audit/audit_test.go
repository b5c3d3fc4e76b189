package audit_test

import (
	"testing"
	"time"

	"contactbase/internal/audit"
	"contactbase/internal/testkit"
)

// Only retention deletes entries, and nobody changes them.
func TestEntriesStay(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	write := func(actor audit.Actor, action audit.Action) {
		t.Helper()
		if err := audit.Write(audit.As(app, actor), audit.Entry{Tenant: "acme", Action: action, Collection: "contacts"}); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int { return testkit.Count(t, app, "SELECT count(*) FROM audit_log WHERE tenant = 'acme'", nil) }
	write(audit.Actor{Kind: audit.Member, ID: "ada", Name: "Ada"}, audit.Exported)
	between := time.Now()
	write(audit.Actor{}, audit.Imported)
	for _, forbidden := range []string{"UPDATE audit_log SET actor = 'bob'", "DELETE FROM audit_log", "REPLACE INTO audit_log SELECT * FROM audit_log"} {
		if _, err := app.DB().NewQuery(forbidden).Execute(); err == nil {
			t.Errorf("%s succeeds", forbidden)
		}
	}
	page, err := audit.List(app, audit.Query{Tenant: "acme", Limit: 1})
	if err != nil || len(page.Lines) != 1 || page.Lines[0].Action != audit.Imported || page.NextBefore == "" {
		t.Fatalf("the newest entry is %+v (%v)", page, err)
	}
	page, err = audit.List(app, audit.Query{Tenant: "acme", Before: page.NextBefore, Limit: 1})
	if err != nil || len(page.Lines) != 1 || page.Lines[0].ActorName != "Ada" || page.NextBefore != "" {
		t.Errorf("the oldest entry is %+v (%v)", page, err)
	}
	if err := audit.Prune(t.Context(), app, between.Add(-time.Hour)); err != nil || count() != 2 {
		t.Errorf("%d entries are left (%v)", count(), err)
	}
	if err := audit.Prune(t.Context(), app, time.Now().Add(time.Hour)); err != nil || count() != 0 {
		t.Errorf("%d entries are left (%v)", count(), err)
	}
}

// Only what an actor set is named, and never its value.
func TestChanged(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	before, err := app.FindRecordById("webhooks", testkit.Webhook(t, app, tenant, "https://example.com", "a long secret"))
	if err != nil {
		t.Fatal(err)
	}
	after := before.Fresh()
	for name, value := range map[string]any{"name": "New", "sealedHeaders": "x", "memberOwned": true, "updated": "2020-01-01 00:00:00.000Z"} {
		after.Set(name, value)
	}
	changed, err := audit.Changed(app, before, after)
	if err != nil || len(changed) != 2 || changed[0] != "headers" || changed[1] != "name" {
		t.Errorf("changed are %q (%v)", changed, err)
	}
}
