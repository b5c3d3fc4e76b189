package migrations_test

import "testing"

// Events and attempts are counted from the migration on. The way back leaves nothing, and can be gone again.
func TestCountingBegins(t *testing.T) {
	t.Parallel()
	app, migrate := newFolder(t, "1761000009")
	counted := func() (event string) {
		t.Helper()
		if err := app.DB().NewQuery("SELECT group_concat(`table` || ' ' || row || ' ' || time, ', ') FROM _counted").Row(&event); err != nil {
			t.Fatal(err)
		}
		return event
	}
	execute(t, app, `INSERT INTO events (id, tenant, type, payload, created) VALUES ('z1', 't', '', '{}', 'first'), ('a2', 't', '', '{}', 'last')`)
	execute(t, app, `INSERT INTO delivery_attempts (id, delivery, started) VALUES ('c1', 'd', 'before'), ('b2', 'd', 'now')`)
	migrate()
	if got := counted(); got != "delivery_attempts b2 now, events a2 last" {
		t.Errorf("counted is up to %q", got)
	}
	if err := undo(app, "1761000009"); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"_webhookHours", "_eventHours", "_counted", "_keyHours", "_failedCalls"} {
		if app.HasTable(table) {
			t.Errorf("%s is there", table)
		}
	}
	execute(t, app, `DELETE FROM events`)
	migrate()
	if got := counted(); got != "delivery_attempts b2 now, events  " {
		t.Errorf("without events counted is up to %q", got)
	}
}
