package migrations_test

import "testing"

// Webhooks that are made or enabled while events of their tenants wait are known until the cursor has passed these,
// and each change counts.
func TestRecipientsSince(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	for _, statement := range []string{
		"INSERT INTO tenants (id, name, created, updated) VALUES ('t', 'Acme', '', ''), ('o', 'Other', '', '')",
		"INSERT INTO events (id, tenant, type, payload) VALUES ('e1', 't', '', '{}'), ('e2', 't', '', '{}'), ('e3', 'o', '', '{}'), ('e4', 't', '', '{}')",
	} {
		execute(t, app, statement)
	}
	version := 1
	for _, step := range []struct {
		statement, want string
		changes         int
	}{
		{"INSERT INTO webhooks (id, tenant, url, disabled) VALUES ('w1', 't', '', 1), ('w2', 'o', '', 0)", "w1e4 w2e3", 2},
		{"UPDATE webhooks SET disabled = 0", "w1e4 w2e3", 1},
		{"UPDATE webhooks SET name = 'one', disabled = 0", "w1e4 w2e3", 0},
		{"UPDATE webhooks SET filter = 'true' WHERE id = 'w1'", "w1e4 w2e3", 1},
		{"UPDATE _fanOutCursor SET event = 'e2'", "w1e4 w2e3", 0},
		{"UPDATE _fanOutCursor SET event = 'e3'", "w1e4", 0},
		{"INSERT INTO webhooks (id, tenant, url) VALUES ('w3', 't', ''), ('w4', 'o', '')", "w1e4 w3e4", 2},
		{"DELETE FROM webhooks WHERE id = 'w3'", "w1e4", 1},
		{"UPDATE _fanOutCursor SET event = 'e4'", "", 0},
	} {
		execute(t, app, step.statement)
		version += step.changes
		var since string
		var got int
		err := app.DB().NewQuery("SELECT coalesce(group_concat(webhook || event, ' '), ''), (SELECT version FROM _credentialVersion) FROM _fanOutSince").Row(&since, &got)
		if err != nil || since != step.want || got != version {
			t.Errorf("after %s they are %q at the version %d, not %q at %d (%v)", step.statement, since, got, step.want, version, err)
		}
	}
}
