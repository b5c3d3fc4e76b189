package migrations_test

import (
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// newFolder returns an app with all migrations before the one that begins so, and a function that applies the rest.
func newFolder(t *testing.T, until string) (app core.App, migrate func()) {
	t.Helper()
	app = core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir()})
	if err := app.Bootstrap(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.ResetBootstrapState() })
	var before, after core.MigrationsList
	for _, migration := range core.AppMigrations.Items() {
		list := &before
		if migration.File >= until {
			list = &after
		}
		list.Register(migration.Up, migration.Down, migration.File)
	}
	run := func(list core.MigrationsList) {
		t.Helper()
		if _, err := core.NewMigrationsRunner(app, list).Up(); err != nil {
			t.Fatal(err)
		}
	}
	run(before)
	return app, func() { run(after) }
}

// undo takes the migrations back to before the one that begins so, which is undone too.
func undo(app core.App, from string) error {
	var later int
	if err := app.DB().NewQuery("SELECT count(*) FROM _migrations WHERE file >= {:from} AND file LIKE '1761%'").Bind(dbx.Params{"from": from}).Row(&later); err != nil {
		return err
	}
	_, err := core.NewMigrationsRunner(app, core.AppMigrations).Down(later)
	return err
}
