package migrations_test

import "testing"

// The cursor moves back when its event is deleted, and only then.
func TestFanOutCursorIsOnAnEvent(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	execute(t, app, `INSERT INTO events (id, tenant, type, payload) VALUES ('e1', 't', '', '{}'), ('e2', 't', '', '{}'), ('e3', 't', '', '{}'), ('e4', 't', '', '{}'), ('e5', 't', '', '{}')`)
	execute(t, app, `UPDATE _fanOutCursor SET event = 'e4'`)
	for _, step := range []struct{ statement, want string }{
		{"DELETE FROM events WHERE id = 'e5'", "e4"},
		{"DELETE FROM events WHERE id = 'e2'", "e4"},
		{"DELETE FROM events WHERE id = 'e4'", "e3"},
		{"DELETE FROM events", ""},
	} {
		execute(t, app, step.statement)
		var at string
		if err := app.DB().NewQuery("SELECT group_concat(event) FROM _fanOutCursor").Row(&at); err != nil {
			t.Fatal(err)
		}
		if at != step.want {
			t.Errorf("after %s it is at %q, not %q", step.statement, at, step.want)
		}
	}
}
