package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// reopen opens a data directory as the program does, and returns the error.
func reopen(t *testing.T, dir string) error {
	t.Helper()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir, DBConnect: sqlite.Connect(sqlite.Full)})
	app.OnBootstrap().Unbind("__pbNotifyWatcherSystemHook__") // see newApp
	Bind(app)
	err := app.Bootstrap()
	terminate(t, app)
	return err
}

// A data directory of a newer version is refused, and so is its backup. Other programs' migrations do not count.
func TestFolderOfANewerVersion(t *testing.T) {
	t.Parallel()
	const noted, notedOwn = "9999999999_of_an_extension.go", "1769000001_of_ours.go"
	for name, newer := range map[string]bool{
		"1760000099_of_ours.go":         true,
		"1761000003_of_ours.go":         true,
		"9999999999_of_pocketbase.go":   true,
		"9999999999_of_an_admin.js":     false,
		"1640988000_init.go":            false,
		"1661586591_of_an_older_pb.go":  false,
		"1750000000_of_another_app.go":  false,
		"1760123456_of_another_app.go":  false,
		"1760000099_of_an_admin.js":     false,
		"1760000099 of nobody we know.": false,
		noted:                           false,
		notedOwn:                        true,
	} {
		dir := filepath.Join(t.TempDir(), "data")
		app := newApp(t, dir)
		if _, err := app.DB().Insert("_migrations", dbx.Params{"file": name, "applied": 1}).Execute(); err != nil && name != "1640988000_init.go" {
			t.Fatal(err)
		}
		if err := noteMigrations(app, []string{noted, notedOwn}); err != nil {
			t.Fatal(err)
		}
		if err := noteMigrations(app, []string{"9999999998_of_another_extension.go"}); err != nil {
			t.Fatal(err)
		}
		made, err := Create(t.Context(), app, "")
		if err != nil {
			t.Fatal(err)
		}
		terminate(t, app)
		for doing, err := range map[string]error{"opening": reopen(t, dir), "restoring": second(Restore(archivePath(app, made), t.TempDir()))} {
			if newer != errors.Is(err, ErrNewer) || !newer && err != nil {
				t.Errorf("%s: %s gives %v", name, doing, err)
			}
			if newer && (err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "restore a backup")) {
				t.Errorf("%s: %s says %v", name, doing, err)
			}
		}
	}
}

func second(_ string, err error) error { return err }

// An empty or missing database beside its other files is not a new directory.
func TestFolderWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		files   map[string]string
		refused bool
	}{
		"nothing":                             {nil, false},
		"an empty database":                   {map[string]string{"data.db": "", "auxiliary.db": "", "data.db-wal": ""}, false},
		"an empty one beside logs":            {map[string]string{"data.db": "", "auxiliary.db": "x"}, true},
		"an empty one beside its own log":     {map[string]string{"data.db": "", "data.db-wal": "x"}, true},
		"an empty one beside uploads":         {map[string]string{"data.db": "", "storage/a/b.png": "x"}, true},
		"an empty one beside backups":         {map[string]string{"data.db": "", "backups/a.zip": "x"}, true},
		"none beside logs":                    {map[string]string{"auxiliary.db": "x"}, true},
		"none beside backups, to be restored": {map[string]string{"backups/a.zip": "x"}, false},
	} {
		dir := t.TempDir()
		for name, text := range tc.files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name), text)
		}
		if err := reopen(t, dir); tc.refused != errors.Is(err, ErrEmpty) || !tc.refused && err != nil {
			t.Errorf("%s: opening the folder gives %v", what, err)
		}
		if info, err := os.Stat(filepath.Join(dir, "data.db")); tc.refused && err == nil && info.Size() > 0 {
			t.Errorf("%s: a database was made", what)
		}
	}
}
