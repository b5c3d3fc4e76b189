package migrations_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// position returns the event that the position is at.
func position(t *testing.T, app core.App) (event string) {
	t.Helper()
	if err := app.DB().NewQuery("SELECT group_concat(event) FROM _position").Row(&event); err != nil {
		t.Fatal(err)
	}
	return event
}

func execute(t *testing.T, app core.App, statement string) {
	t.Helper()
	if _, err := app.NonconcurrentDB().NewQuery(statement).Execute(); err != nil {
		t.Fatal(err)
	}
}

// What was there before the position has its deliveries. The way back is open once that holds of all events.
func TestPositionBeginsAtTheEnd(t *testing.T) {
	t.Parallel()
	app, migrate := newFolder(t, "1761000006")
	execute(t, app, `INSERT INTO events (id, tenant, type, payload) VALUES ('z1', 't', 'contact.created', '{}'), ('a2', 't', 'contact.created', '{}')`)
	migrate()
	if at := position(t, app); at != "a2" {
		t.Errorf("it is at %q", at)
	}
	execute(t, app, `INSERT INTO events (id, tenant, type, payload) VALUES ('b3', 't', 'contact.created', '{}')`)
	if err := undo(app, "1761000006"); err == nil {
		t.Error("the migration is undone while an event has no deliveries")
	}
	execute(t, app, `UPDATE _position SET event = 'b3'`)
	if err := undo(app, "1761000006"); err != nil {
		t.Error(err)
	}
	if app.HasTable("_position") {
		t.Error("the position is there")
	}
	execute(t, app, `DELETE FROM events`)
	migrate()
	if at := position(t, app); at != "" {
		t.Errorf("without events it is at %q", at)
	}
}

// The position goes back where its event is deleted, and only then.
func TestPositionIsOnAnEvent(t *testing.T) {
	t.Parallel()
	app, migrate := newFolder(t, "9")
	migrate()
	execute(t, app, `INSERT INTO events (id, tenant, type, payload) VALUES ('e1', 't', '', '{}'), ('e2', 't', '', '{}'), ('e3', 't', '', '{}'), ('e4', 't', '', '{}'), ('e5', 't', '', '{}')`)
	execute(t, app, `UPDATE _position SET event = 'e4'`)
	for _, step := range []struct{ statement, want string }{
		{"DELETE FROM events WHERE id = 'e5'", "e4"},
		{"DELETE FROM events WHERE id = 'e2'", "e4"},
		{"DELETE FROM events WHERE id = 'e4'", "e3"},
		{"DELETE FROM events", ""},
	} {
		execute(t, app, step.statement)
		if at := position(t, app); at != step.want {
			t.Errorf("after %s it is at %q, not %q", step.statement, at, step.want)
		}
	}
}
