package audit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/testkit"
	"contactbase/internal/wire"
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

// Only what an actor set is named.
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

// Old and new values are those of the fields that hold neither secrets nor personal data, cut where they are long.
func TestChanges(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	long := strings.Repeat("é", 201)
	for _, c := range []struct {
		collection string
		before     map[string]any // nil for a new record
		after      map[string]any
		want       string
	}{
		{
			"webhooks", map[string]any{"name": "Old", "url": "https://x.example/secret", "events": []string{"contact.created"}, "maxPerSecond": 5, "secret": "a long secret"},
			map[string]any{"name": long, "url": "https://x.example/other", "events": []string{}, "disabled": true, "maxPerSecond": 0, "secret": "another secret", "headers": map[string]any{"X-Token": "hunter2"}},
			`{"disabled":{"old":false,"new":true},"events":{"old":["contact.created"],"new":[]},"maxPerSecond":{"old":5,"new":0},` +
				`"name":{"old":"Old","new":"` + strings.Repeat("é", 199) + `…"},"url":{"old":"https://x.example/sec…","new":"https://x.example/oth…"}}`,
		},
		{
			"api_keys", nil, map[string]any{"name": "CRM", "permissions": []string{"contacts:read"}, "expires": "2030-01-31 10:00:00.000Z"},
			`{"expires":{"old":null,"new":"2030-01-31T10:00:00.000Z"},"name":{"old":null,"new":"CRM"},"permissions":{"old":null,"new":["contacts:read"]}}`,
		},
		{
			"tenant_members", map[string]any{"role": "viewer", "name": "Ada", "notify": "daily"}, map[string]any{"role": "admin", "name": "Ada Lovelace", "email": "ada@example.com", "notify": ""},
			`{"notify":{"old":"daily","new":""},"role":{"old":"viewer","new":"admin"}}`,
		},
		{"inbound_webhooks", nil, map[string]any{"mapping": `{"name":"a.b"}`, "verifySecret": "a long secret", "access": "full"}, `{"access":{"old":null,"new":"full"}}`},
	} {
		collection, err := app.FindCollectionByNameOrId(c.collection)
		if err != nil {
			t.Fatal(err)
		}
		var before *core.Record
		after := core.NewRecord(collection)
		after.Set("tenant", tenant)
		if c.before != nil {
			before = core.NewRecord(collection)
			before.Load(c.before)
			after.Load(c.before)
		}
		after.Load(c.after)
		from := before
		if from == nil {
			from = core.NewRecord(collection)
		}
		fields, err := audit.Changed(app, from, after)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.AppendJSON(nil, audit.Changes(before, after, fields)); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.collection, got, c.want, err)
		}
	}
}

// A URL is shown as its host and the beginning of its path.
func TestShortURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://x.example/service/token": "https://x.example/ser…", "https://x.example": "https://x.example", "https://x.example/": "https://x.example/",
		"https://x.example/abc": "https://x.example/abc", "https://x.example/?token=1": "https://x.example/…", "https://user:secret@x.example:8443/a": "https://x.example:8443/a…",
		"nats:crm.contacts": "nats:crm.…", "nats:crm": "nats:crm", "": "", "https://x.example/é%41b/x": "https://x.example/%C3…", "::": "…",
	} {
		if got := audit.ShortURL(url); got != want {
			t.Errorf("%q is shown as %q, want %q", url, got, want)
		}
	}
}

// Filters select entries, also several at once, and a page that has looked at enough of them says where to continue.
func TestFilters(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	begin := time.Now()
	write := func(kind audit.Kind, actor string, action audit.Action, collection string) {
		t.Helper()
		if err := audit.Write(app, audit.Entry{Actor: audit.Actor{Kind: kind, ID: actor}, Tenant: "acme", Action: action, Collection: collection}); err != nil {
			t.Fatal(err)
		}
	}
	write(audit.Member, "ada", audit.Updated, "webhooks")
	write(audit.Superuser, "root", audit.Updated, "api_keys")
	write(audit.System, "", audit.Updated, "webhooks")
	write(audit.Member, "ada", audit.Deleted, "webhooks")
	end := time.Now().Add(time.Second)
	for what, c := range map[string]struct {
		query audit.Query
		want  int
	}{
		"all": {audit.Query{}, 4}, "actor": {audit.Query{Actor: "ada"}, 2}, "kind": {audit.Query{Actor: "system"}, 1}, "action": {audit.Query{Action: "updated"}, 3},
		"collection": {audit.Query{Collection: "webhooks"}, 3}, "several": {audit.Query{Actor: "ada", Action: "deleted", Collection: "webhooks"}, 1},
		"since": {audit.Query{Since: begin}, 4}, "until": {audit.Query{Until: begin.Truncate(time.Millisecond)}, 0}, "between": {audit.Query{Since: begin, Until: end}, 4},
		"later": {audit.Query{Since: end}, 0}, "a superuser for members": {audit.Query{Actor: "root", ForMember: true}, 0}, "a superuser": {audit.Query{Actor: "root"}, 1},
		"superusers for members": {audit.Query{Actor: "superuser", ForMember: true}, 1},
	} {
		for _, tenant := range []string{"", "acme"} {
			c.query.Tenant, c.query.Limit = tenant, 10
			page, err := audit.List(app, c.query)
			if err != nil {
				t.Fatal(err)
			}
			found := len(page.Lines)
			if tenant == "" { // entries about the app of the test
				found = len(slices.DeleteFunc(page.Lines, func(l audit.Line) bool { return l.Tenant != "acme" }))
			}
			if found != c.want || page.NextBefore != "" {
				t.Errorf("%s: %d entries of %q, and then %q", what, found, tenant, page.NextBefore)
			}
		}
	}
}

// A page whose filters no index serves ends after some entries, and says where to continue.
func TestWalkIsBounded(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	for i := range 10 {
		action := audit.Updated
		if i == 0 {
			action = audit.Deleted
		}
		if err := audit.Write(app, audit.Entry{Actor: audit.Actor{Kind: audit.Member, ID: "ada"}, Tenant: "acme", Action: action}); err != nil {
			t.Fatal(err)
		}
	}
	query, pages := audit.Query{Tenant: "acme", Actor: "ada", Action: string(audit.Deleted), Limit: 5}, 0
	for {
		page, err := audit.ListWalking(app, query, 4)
		if err != nil {
			t.Fatal(err)
		}
		if pages++; len(page.Lines) == 1 && page.NextBefore == "" {
			break
		}
		if query.Before = page.NextBefore; len(page.Lines) != 0 || query.Before == "" {
			t.Fatalf("page %d is %+v", pages, page)
		}
	}
	if pages != 3 {
		t.Errorf("there are %d pages", pages)
	}
}
