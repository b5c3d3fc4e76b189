package migrations_test

import (
	"slices"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// The position of a tenant that is set aside moves to its next event or its previous webhook when its own is deleted, and ends with its events.
func TestFanOutAsideIsOnAnEvent(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	for _, statement := range []string{
		"INSERT INTO tenants (id, name, created, updated) VALUES ('t', 'Acme', '', ''), ('o', 'Other', '', '')",
		"INSERT INTO events (id, tenant, type, payload) VALUES ('e1', 't', '', '{}'), ('e2', 'o', '', '{}'), ('e3', 't', '', '{}'), ('e4', 'o', '', '{}')",
		"UPDATE _fanOutCursor SET event = 'e4'",
		"INSERT INTO webhooks (id, tenant, url) VALUES ('w1', 't', ''), ('w2', 'o', ''), ('w3', 't', '')",
		"INSERT INTO _fanOutAside (tenant, event, webhook, steps) VALUES ('t', 'e1', 'w3', 7)",
		"INSERT INTO webhooks (id, tenant, url, disabled) VALUES ('w4', 't', '', 1), ('w5', 'o', '', 0)",
		"UPDATE webhooks SET disabled = 0",
	} {
		execute(t, app, statement)
	}
	text := func(query string) (found string) {
		t.Helper()
		if err := app.DB().NewQuery(query).Row(&found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := text("SELECT group_concat(webhook || event) FROM _fanOutSince"); got != "w4e3" {
		t.Errorf("the webhooks since then are %s", got)
	}
	for _, step := range []struct{ statement, want string }{
		{"DELETE FROM webhooks WHERE id = 'w2'", "e1 w3 7"},
		{"DELETE FROM webhooks WHERE id = 'w3'", "e1 w1 7"},
		{"DELETE FROM webhooks WHERE id = 'w1'", "e1  7"},
		{"DELETE FROM events WHERE id = 'e2'", "e1  7"},
		{"DELETE FROM events WHERE id = 'e1'", "e3  0"},
		{"DELETE FROM events WHERE id = 'e3'", ""},
	} {
		execute(t, app, step.statement)
		if got := text("SELECT coalesce(group_concat(event || ' ' || webhook || ' ' || steps), '') FROM _fanOutAside"); got != step.want {
			t.Errorf("after %s it is at %q, not %q", step.statement, got, step.want)
		}
	}
	if got := text("SELECT count(*) FROM _fanOutSince"); got != "0" {
		t.Errorf("%s webhooks are remembered", got)
	}
}

// Reverting it leaves no event without deliveries.
func TestFanOutAsideIsReverted(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	for _, statement := range []string{
		"INSERT INTO events (id, tenant, type, payload) VALUES ('e1', 'o', '', '{}'), ('e2', 't', '', '{}'), ('e3', 'o', '', '{}')",
		"UPDATE _fanOutCursor SET event = 'e3'",
		"INSERT INTO _fanOutAside (tenant, event) VALUES ('t', 'e2')",
	} {
		execute(t, app, statement)
	}
	for _, migration := range slices.Backward(core.AppMigrations.Items()) {
		if migration.File == "1760000030_recipients.go" || migration.File == "1760000029_fan_out_aside.go" {
			if err := app.RunInTransaction(migration.Down); err != nil {
				t.Fatal(err)
			}
		}
	}
	var event string
	if err := app.DB().NewQuery("SELECT event FROM _fanOutCursor").Row(&event); err != nil || event != "e1" {
		t.Errorf("the cursor is on %q, %v", event, err)
	}
	var left int
	if err := app.DB().NewQuery("SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%_fanOutAside%' OR sql LIKE '%_fanOutSince%'").Row(&left); err != nil || left != 0 {
		t.Errorf("%d parts of it are left, %v", left, err)
	}
}
