package migrations_test

import (
	"slices"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// Webhooks that fail at the upgrade do so since their oldest hour after the last success.
func TestFailingWebhooksAreCarriedOver(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	for _, statement := range []string{
		"DROP TRIGGER _failingWebhooks_webhook_delete", "DROP TABLE _failingWebhooks",
		"INSERT INTO webhooks (id, tenant, url) VALUES ('w1', 't', ''), ('w2', 't', ''), ('w3', 't', '')",
		"INSERT INTO _activity (kind, grain, start, of, done, retried, failed) VALUES " +
			"('webhook', 3600, '2026-03-01 10', 'w1', 0, 3, 0), ('webhook', 3600, '2026-03-02 10', 'w1', 1, 5, 0), " +
			"('webhook', 3600, '2026-03-03 10', 'w1', 0, 7, 1), ('webhook', 3600, '2026-03-03 12', 'w1', 0, 4, 0), " +
			"('webhook', 60, '2026-03-03 12:01', 'w1', 0, 4, 0), ('webhook', 3600, '2026-03-03 12', 'w2', 9, 1, 0), " +
			"('webhook', 3600, '2026-03-03 12', 'w3', 0, 0, 2), ('webhook', 3600, '2026-03-03 12', 'gone', 0, 1, 0), " +
			"('key', 3600, '2026-03-03 12', 'w2', 0, 1, 0)",
	} {
		execute(t, app, statement)
	}
	for _, migration := range core.AppMigrations.Items() {
		if migration.File == "1760000094_failing_webhooks.go" {
			if err := app.RunInTransaction(migration.Up); err != nil {
				t.Fatal(err)
			}
		}
	}
	var rows []string
	if err := app.DB().NewQuery("SELECT concat_ws(' ', webhook, since, attempts, quote(error)) FROM _failingWebhooks").Column(&rows); err != nil {
		t.Fatal(err)
	}
	want := []string{"w1 2026-03-03 10:00:00.000Z 12 ''", "w3 2026-03-03 12:00:00.000Z 2 ''"}
	if !slices.Equal(rows, want) {
		t.Errorf("the rows are %q, not %q", rows, want)
	}
}
