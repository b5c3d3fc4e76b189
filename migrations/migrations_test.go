package migrations_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	_ "contactbase/migrations"
)

// newFolder returns an app with all migrations.
func newFolder(t *testing.T) core.App {
	t.Helper()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir()})
	if err := app.Bootstrap(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.ResetBootstrapState() })
	if err := app.RunAllMigrations(); err != nil {
		t.Fatal(err)
	}
	return app
}

func execute(t *testing.T, app core.App, statement string) {
	t.Helper()
	if _, err := app.NonconcurrentDB().NewQuery(statement).Execute(); err != nil {
		t.Fatal(err)
	}
}

// The upgrade guide names the newest migration of each version. Its last row is the next version.
func TestGuideNamesTheNewestMigration(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/upgrading.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| [0-9.]+ \\| `(\\w+\\.go)` \\|$").FindAllSubmatch(guide, -1)
	all := core.AppMigrations.Items()
	if newest := all[len(all)-1].File; len(rows) == 0 || string(rows[len(rows)-1][1]) != newest {
		t.Errorf("the newest migration is %s, and docs/upgrading.md has %q", newest, slices.Concat(rows...))
	}
}
