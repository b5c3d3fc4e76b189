package upgrade

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/backup"
	"contactbase/internal/sqlite"
	_ "contactbase/migrations"
)

const timeout = time.Minute

// The migrations of a later version, each of which creates a table.
const (
	firstLater  = "1769000001_first.go"
	secondLater = "1769000002_second.go"
	later       = "1769"
)

// What makes the second one fail, and what repairs that.
const spoil, mend = "CREATE TABLE _second (x)", "DROP TABLE _second"

func init() {
	for file, table := range map[string]string{firstLater: "_first", secondLater: "_second"} {
		run := func(statement string) func(core.App) error {
			return func(app core.App) error {
				_, err := app.DB().NewQuery(statement).Execute()
				return err
			}
		}
		core.AppMigrations.Register(run("CREATE TABLE "+table+" (x)"), run("DROP TABLE "+table), file)
	}
}

// folder is a data directory that processes open one after the other.
type folder struct {
	t   *testing.T
	dir string
	out bytes.Buffer
}

// older returns a data directory that lacks the later migrations.
func older(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, dir: t.TempDir()}
	app, _ := f.open()
	var list core.MigrationsList
	for _, migration := range core.AppMigrations.Items() {
		if migration.File < later {
			list.Add(migration)
		}
	}
	if _, err := core.NewMigrationsRunner(app, list).Up(); err != nil {
		t.Fatal(err)
	}
	f.close(app)
	return f
}

func (f *folder) open() (core.App, *Upgrade) {
	f.t.Helper()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: f.dir, DBConnect: sqlite.Connect(sqlite.Normal)})
	app.OnBootstrap().Unbind("__pbNotifyWatcherSystemHook__") // it outlives the app
	sqlite.Bind(app)
	backup.Bind(app)
	u := New(app, &f.out)
	if err := app.Bootstrap(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { f.close(app) })
	return app, u
}

func (f *folder) close(app core.App) {
	f.t.Helper()
	err := app.OnTerminate().Trigger(&core.TerminateEvent{App: app}, func(*core.TerminateEvent) error { return app.ResetBootstrapState() })
	if err != nil {
		f.t.Error(err)
	}
}

// applied lists this program's migrations that were applied.
func (f *folder) applied() []string {
	f.t.Helper()
	all, err := backup.Applied(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return !backup.IsOwn(name) })
}

func (f *folder) backups() int {
	f.t.Helper()
	names, err := filepath.Glob(filepath.Join(f.dir, "backups", "*.zip"))
	if err != nil {
		f.t.Fatal(err)
	}
	return len(names)
}

func allMigrations() (files []string) {
	for _, migration := range core.AppMigrations.Items() {
		if backup.IsOwn(migration.File) {
			files = append(files, migration.File)
		}
	}
	return files
}

// Migrations completed before a failure stay, and the next upgrade continues without another backup.
func TestInterruptedUpgradeGoesOn(t *testing.T) {
	t.Parallel()
	f := older(t)
	app, u := f.open()
	if _, err := app.NonconcurrentDB().NewQuery(spoil).Execute(); err != nil {
		t.Fatal(err)
	}
	if err := u.Run(t.Context()); err == nil || !strings.Contains(err.Error(), secondLater) {
		t.Fatalf("the upgrade gives %v", err)
	}
	if done := f.applied(); done[len(done)-1] != firstLater || f.backups() != 1 {
		t.Errorf("the folder has %v and %d backups", done, f.backups())
	}
	if _, err := app.NonconcurrentDB().NewQuery(mend).Execute(); err != nil {
		t.Fatal(err)
	}
	f.close(app)
	_, u = f.open()
	if err := u.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.applied(); !slices.Equal(got, allMigrations()) || f.backups() != 1 {
		t.Errorf("the folder has %v and %d backups", got, f.backups())
	}
	for _, line := range []string{
		"migration 1 of 2: " + firstLater, "migration 2 of 2: " + secondLater, "migration 1 of 1: " + secondLater, "made before an interruption",
	} {
		if !strings.Contains(f.out.String(), line) {
			t.Errorf("it does not say %q:\n%s", line, &f.out)
		}
	}
	if _, err := os.Stat(filepath.Join(f.dir, ".contactbase.upgrading")); err == nil {
		t.Error("the next upgrade would make no backup")
	}
}

// A data directory restored after a failed upgrade is backed up again: much may have been written to it.
func TestBackupAfterARestore(t *testing.T) {
	t.Parallel()
	f := older(t)
	app, u := f.open()
	if _, err := app.NonconcurrentDB().NewQuery(spoil).Execute(); err != nil {
		t.Fatal(err)
	}
	if err := u.Run(t.Context()); err == nil {
		t.Fatal("the upgrade does not fail")
	}
	f.close(app)
	made, err := filepath.Glob(filepath.Join(f.dir, "backups", "*.zip"))
	if err != nil || len(made) != 1 {
		t.Fatalf("the backups are %v: %v", made, err)
	}
	if _, err := backup.Restore(made[0], f.dir); err != nil {
		t.Fatal(err)
	}
	app, u = f.open()
	if _, err := app.NonconcurrentDB().NewQuery(mend).Execute(); err != nil {
		t.Fatal(err)
	}
	if err := u.Run(t.Context()); err != nil || f.backups() != 2 {
		t.Errorf("the upgrade ends with %v and %d backups", err, f.backups())
	}
}

// A new or current directory needs no backup.
func TestNothingToUpgrade(t *testing.T) {
	t.Parallel()
	f := &folder{t: t, dir: t.TempDir()}
	for range 2 {
		app, u := f.open()
		if err := u.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.close(app)
	}
	if got := f.applied(); !slices.Equal(got, allMigrations()) || f.backups() != 0 || f.out.Len() > 0 {
		t.Errorf("the folder has %v and %d backups: %s", got, f.backups(), &f.out)
	}
}

// A data directory that another process has open, such as the older version's server, is not upgraded.
func TestServedFolderIsNotUpgraded(t *testing.T) {
	t.Parallel()
	f := older(t)
	served, _ := f.open()
	before := f.applied()
	app, u := f.open()
	for doing, err := range map[string]error{"a command": u.Run(t.Context()), "serving": u.Deferred().RunAllMigrations()} {
		if !errors.Is(err, backup.ErrServed) || !strings.Contains(err.Error(), "was written by an older version") {
			t.Errorf("%s gives %v", doing, err)
		}
	}
	if got := f.applied(); !slices.Equal(got, before) || f.backups() != 0 {
		t.Errorf("the folder has %v and %d backups", got, f.backups())
	}
	f.close(served)
	if err := u.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if release, err := backup.Lock(app.DataDir()); err != nil {
		t.Errorf("afterwards others are kept out: %v", err)
	} else {
		release()
	}
}

// A server starts its work once the data directory is up to date, and stops if the upgrade fails.
func TestServe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil string // a statement that makes the upgrade fail
		fails bool
	}{
		"done":   {"SELECT 1", false},
		"failed": {spoil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := older(t)
			app, u := f.open()
			if _, err := app.NonconcurrentDB().NewQuery(tc.spoil).Execute(); err != nil {
				t.Fatal(err)
			}
			if err := u.Deferred().RunAllMigrations(); err != nil || !u.Running() {
				t.Fatalf("%v; the upgrade runs: %v", err, u.Running())
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{ReadHeaderTimeout: time.Minute}
			defer server.Close()
			ended, ready := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				_ = server.Serve(listener) // it always ends with an error
			}()
			u.Serve(server, func() { close(ready) })
			select {
			case <-ready:
			case <-ended:
			case <-time.After(timeout):
				t.Fatal("nothing happens")
			}
			if failed := u.Err() != nil; failed != tc.fails || u.Running() != tc.fails {
				t.Errorf("it ends with %v; it runs: %v", u.Err(), u.Running())
			}
		})
	}
}
