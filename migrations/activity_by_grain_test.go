package migrations_test

import (
	"slices"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// The counts of each kind and grain are carried over.
func TestActivityIsCarriedOver(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	all := map[string]*core.Migration{}
	for _, migration := range core.AppMigrations.Items() {
		all[migration.File] = migration
	}
	for _, statement := range []string{"DROP TABLE _activity", "DROP TABLE _counted", "DROP TABLE _keptCalls", "DROP TRIGGER _keptCalls_key_delete"} {
		execute(t, app, statement)
	}
	run := func(file string) {
		t.Helper()
		if err := app.RunInTransaction(all[file].Up); err != nil {
			t.Fatal(err)
		}
	}
	run("1760000020_activity.go")
	run("1760000021_calls.go")
	for _, statement := range []string{
		"INSERT INTO _webhookHours VALUES ('2026-03-04 12', 'w', 1, 2, 3, '[4]')",
		"INSERT INTO _webhookMinutes VALUES ('2026-03-04 12:30', 'w', 1, 1, 0, '[2]')",
		"INSERT INTO _eventHours VALUES ('2026-03-04 12', 'contact.created', 5)",
		"INSERT INTO _eventMinutes VALUES ('2026-03-04 12:30', 'contact.created', 4)",
		"INSERT INTO _keyHours VALUES ('2026-03-04 12', 'k', 6, 7, 8, 9)",
		"INSERT INTO _keyMinutes VALUES ('2026-03-04 12:30', '', 0, 1, 0, 0)",
	} {
		execute(t, app, statement)
	}
	run("1760000031_activity_by_grain.go")
	var rows []string
	const columns = "concat_ws(' ', kind, grain, start, quote(of), done, retried, refused, limited, failed, answers)"
	if err := app.DB().NewQuery("SELECT " + columns + " FROM _activity ORDER BY kind, grain").Column(&rows); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"event 60 2026-03-04 12:30 'contact.created' 4 0 0 0 0 []", "event 3600 2026-03-04 12 'contact.created' 5 0 0 0 0 []",
		"key 60 2026-03-04 12:30 '' 0 0 1 0 0 []", "key 3600 2026-03-04 12 'k' 6 0 7 8 9 []",
		"webhook 60 2026-03-04 12:30 'w' 1 1 0 0 0 [2]", "webhook 3600 2026-03-04 12 'w' 1 2 0 0 3 [4]",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the rows are\n%q, not\n%q", rows, want)
	}
	var left int
	if err := app.DB().NewQuery("SELECT count(*) FROM sqlite_schema WHERE name GLOB '_*Hours' OR name GLOB '_*Minutes'").Row(&left); err != nil || left != 0 {
		t.Errorf("%d older tables are left, %v", left, err)
	}
}
