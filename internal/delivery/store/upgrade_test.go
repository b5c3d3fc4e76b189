package store_test

import (
	"fmt"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery/store"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// openBefore returns an app with a data directory in the schema before a migration, and what applies that and the later
// ones.
func openBefore(t *testing.T, file string) (app core.App, upgrade func()) {
	t.Helper()
	app = core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir(), DBConnect: sqlite.Connect(sqlite.Full)})
	if err := app.Bootstrap(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.ResetBootstrapState() })
	var before core.MigrationsList
	for _, migration := range core.AppMigrations.Items() {
		if migration.File < file {
			before.Add(migration)
		}
	}
	run := func(list core.MigrationsList) {
		if _, err := core.NewMigrationsRunner(app, list).Up(); err != nil {
			t.Fatal(err)
		}
	}
	run(core.SystemMigrations)
	run(before)
	return app, func() { run(core.AppMigrations) }
}

// A data directory of 1.0.0 or later, in which tenants are set aside, loses no event with the upgrade: each of 300
// webhooks gets each event of its tenant once, none gets one again that was pruned, rejected or from before it was
// made, and other tenants get nothing.
func TestUpgradeFansOutWhatIsSetAside(t *testing.T) {
	t.Parallel()
	app, upgrade := openBefore(t, "1760000043_fan_out.go")
	webhooks := func(tenant string, n int, filter string) {
		testkit.Execute(t, app, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n})
			INSERT INTO webhooks (id, tenant, url, filter) SELECT {:tenant} || printf('%014d', i), {:tenant}, 'https://hooks.example.com', {:filter} FROM n`,
			dbx.Params{"n": n, "tenant": tenant, "filter": filter})
	}
	event := func(id, tenant string) {
		testkit.Execute(t, app, "INSERT INTO events (id, tenant, type, contact, payload, created) "+
			"VALUES ({:id}, {:tenant}, 'contact.updated', 'ada', '{}', '2026-01-31 12:00:00.000Z')",
			dbx.Params{"id": id, "tenant": tenant})
	}
	delivered := func(event, condition string) {
		testkit.Execute(t, app, "INSERT INTO deliveries (id, event, webhook, tenant, status, created, updated) "+
			"SELECT {:event} || w.id, {:event}, w.id, w.tenant, 'delivered', '', '' "+
			"FROM webhooks w JOIN events e ON e.id = {:event} AND e.tenant = w.tenant WHERE "+condition,
			dbx.Params{"event": event})
	}
	for _, tenant := range []string{"a", "b", "c"} {
		testkit.Execute(t, app,
			"INSERT INTO tenants (id, name, apiEnabled, created, updated) VALUES ({:id}, {:id}, 1, '', '')",
			dbx.Params{"id": tenant})
	}
	webhooks("a", 300, "")
	webhooks("b", 250, "")
	webhooks("c", 1, "")
	for _, e := range []string{"a1", "b1", "c1", "a2", "c2", "b2", "a3", "c3"} {
		event(e, e[:1])
	}
	testkit.Execute(t, app, "UPDATE _fanOutCursor SET event = 'a3'", nil)
	testkit.Execute(t, app,
		"INSERT INTO _fanOutAside (tenant, event, webhook) VALUES ('a', 'a2', {:done}), ('b', 'b2', '')",
		dbx.Params{"done": fmt.Sprintf("a%014d", 120)})
	delivered("a1", "true")
	delivered("a2", "w.id <= 'a00000000000100'") // the filters of 20 rejected it
	delivered("b1", "w.id <= 'b00000000000200'") // some were made later
	delivered("c1", "true")                      // what c2 had is pruned
	testkit.Execute(t, app,
		"INSERT INTO webhooks (id, tenant, url) VALUES ('a99999999999999', 'a', ''), ('c99999999999999', 'c', '')", nil)
	event("a4", "a")

	upgrade()
	if err := store.New(app).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for event, want := range map[string]int{
		"a1": 300, "b1": 200, "c1": 1, "a2": 280, "c2": 0, "b2": 250, "a3": 300, "c3": 1, "a4": 301,
	} {
		got := testkit.Count(t, app, "SELECT count(*) FROM deliveries d "+
			"JOIN webhooks w ON w.id = d.webhook AND w.tenant = substr(d.event, 1, 1) WHERE d.event = {:event}",
			dbx.Params{"event": event})
		if got != want {
			t.Errorf("the event %s has %d deliveries instead of %d", event, got, want)
		}
	}
	const twice = "SELECT count(*) FROM (SELECT 1 FROM deliveries GROUP BY event, webhook HAVING count(*) > 1)"
	if n := testkit.Count(t, app, twice, nil); n != 0 {
		t.Errorf("%d deliveries are there twice", n)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM _fanOutSince", nil); n != 0 {
		t.Errorf("%d webhooks are remembered", n)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%_fanOutAside%'", nil); n != 0 {
		t.Errorf("%d parts of the old schema are left", n)
	}
}
