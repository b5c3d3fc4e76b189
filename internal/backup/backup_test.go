package backup

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	_ "github.com/pocketbase/pocketbase/migrations" // PocketBase's own tables
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/lockfile"
	"contactbase/internal/order"
	"contactbase/internal/sqlite"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDirEnv) != "" {
		runChild()
		return
	}
	os.Exit(m.Run())
}

// newApp opens an app on a data directory, with the collection "things".
func newApp(t *testing.T, dir string) core.App {
	t.Helper()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir, DBConnect: sqlite.Connect(sqlite.Full)})
	// PocketBase's watcher for changes by other processes is not stopped before the databases are closed, which the
	// race detector reports.
	app.OnBootstrap().Unbind("__pbNotifyWatcherSystemHook__")
	sqlite.Bind(app)
	Bind(app)
	if err := app.Bootstrap(); err != nil {
		t.Fatalf("opening an app: %v", err)
	}
	t.Cleanup(func() { terminate(t, app) })
	if _, err := app.FindCollectionByNameOrId("things"); err == nil {
		return app
	}
	things := core.NewBaseCollection("things")
	things.Fields.Add(&core.TextField{Name: "name"})
	if err := app.Save(things); err != nil {
		t.Fatalf("creating a collection: %v", err)
	}
	return app
}

// terminate stops an app as PocketBase does when the program stops.
func terminate(t *testing.T, app core.App) {
	t.Helper()
	event := &core.TerminateEvent{App: app}
	err := app.OnTerminate().Trigger(event, func(e *core.TerminateEvent) error { return e.App.ResetBootstrapState() })
	if err != nil {
		t.Errorf("ending the app: %v", err)
	}
}

func save(t *testing.T, app core.App, name string) {
	t.Helper()
	things, err := app.FindCachedCollectionByNameOrId("things")
	if err != nil {
		t.Fatalf("finding the collection: %v", err)
	}
	record := core.NewRecord(things)
	record.Set("name", name)
	if err := app.Save(record); err != nil {
		t.Fatalf("saving: %v", err)
	}
}

// saved returns the names of the records, sorted.
func saved(t *testing.T, app core.App) []string {
	t.Helper()
	var names []string
	if err := app.DB().Select("name").From("things").OrderBy("name").Column(&names); err != nil {
		t.Fatalf("reading the records: %v", err)
	}
	return names
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("making a folder: %v", err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatalf("writing a file: %v", err)
	}
}

// archivePath returns the path of a local backup.
func archivePath(app core.App, name string) string {
	return filepath.Join(app.DataDir(), core.LocalBackupsDirName, name)
}

// contents returns the sorted names in an archive, and the content of its text files.
func contents(t *testing.T, path string) (names []string, texts map[string]string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatalf("opening the archive: %v", err)
	}
	defer archive.Close()
	texts = map[string]string{}
	for _, file := range archive.File {
		names = append(names, file.Name)
		in, err := file.Open()
		if err != nil {
			t.Fatalf("opening %s: %v", file.Name, err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatalf("reading %s: %v", file.Name, err)
		}
		texts[file.Name] = string(content)
	}
	slices.Sort(names)
	return names, texts
}

// wantNoRemains checks that no temporary files are left in a data directory.
func wantNoRemains(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{workName, stagingName, stagingName + ".zip", markerName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was left behind (%v)", name, err)
		}
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir())
	save(t, app, "a")
	write(t, filepath.Join(app.DataDir(), "storage", "c", "r", "file.txt"), "a file")
	write(t, filepath.Join(app.DataDir(), "storage", "c", "r", "upload.db"), "no database of ours")
	write(t, filepath.Join(app.DataDir(), "own.db-wal"), "of a live database")
	write(t, filepath.Join(app.DataDir(), "left", "out"), "excluded")
	write(t, filepath.Join(app.DataDir(), "leftover"), "not excluded")
	write(t, filepath.Join(app.DataDir(), workName, "archive.zip"), "of a crash")
	write(t, filepath.Join(app.DataDir(), ".contactbase-engine.lock"), "")
	write(t, filepath.Join(app.DataDir(), ".contactbase_replica", "server.lock"), "")
	write(t, filepath.Join(app.DataDir(), core.LocalBackupsDirName, "older.zip"), "a backup")
	write(t, filepath.Join(app.DataDir(), core.LocalTempDirName, "x"), "temporary")
	app.OnBackupCreate().BindFunc(func(e *core.BackupEvent) error {
		e.Exclude = append(e.Exclude, "left")
		return e.Next()
	})
	name, err := Create(t.Context(), app, "")
	if err != nil {
		t.Fatalf("making a backup: %v", err)
	}
	if !strings.HasPrefix(name, "contactbase_2") || !strings.HasSuffix(name, ".zip") {
		t.Errorf("the name is %q", name)
	}
	names, texts := contents(t, archivePath(app, name))
	want := []string{"auxiliary.db", "data.db", "leftover", "storage/c/r/file.txt", "storage/c/r/upload.db"}
	if !slices.Equal(names, want) {
		t.Errorf("the archive holds %q instead of %q", names, want)
	}
	if got := texts["storage/c/r/upload.db"]; got != "no database of ours" {
		t.Errorf("an uploaded file became %q", got)
	}
	wantNoRemains(t, app.DataDir())

	if err := app.CreateBackup(t.Context(), name); err != nil { // like the dashboard
		t.Errorf("replacing a backup: %v", err)
	}
	if again, _ := contents(t, archivePath(app, name)); !slices.Equal(again, want) {
		t.Errorf("the next archive holds %q", again)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir())
	for _, name := range []string{"", "", "monday", "Tuesday-2.zip"} { // the first two within a second
		made, err := Create(t.Context(), app, name)
		if err != nil || !strings.HasSuffix(made, ".zip") || !strings.HasPrefix(made, name) {
			t.Errorf("%q becomes %q (%v)", name, made, err)
		}
		if _, err := os.Stat(archivePath(app, made)); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]error{
		"monday": ErrExists, "monday.zip": ErrExists, "Tuesday-2": ErrExists,
		"a/b": ErrName, "../a.zip": ErrName, "/tmp/a.zip": ErrName, `a\b`: ErrName, ".zip": ErrName, "..zip": ErrName, ".hidden.zip": ErrName, "a b": ErrName,
	} {
		if made, err := Create(t.Context(), app, name); !errors.Is(err, want) {
			t.Errorf("%q becomes %q (%v)", name, made, err)
		}
	}
	wantNoRemains(t, app.DataDir())
}

func TestLinkToFolder(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir())
	if err := os.Symlink(t.TempDir(), filepath.Join(app.DataDir(), "storage")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if _, err := Create(t.Context(), app, "a.zip"); err == nil || !strings.Contains(err.Error(), "storage") {
		t.Errorf("a backup without the linked folder gave %v", err)
	}
	wantNoRemains(t, app.DataDir())
}

func TestOneBackupAtATime(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir())
	release, err := lockfile.Own(filepath.Join(app.DataDir(), backupLockName)) // another process holds it
	if err != nil {
		t.Fatalf("locking: %v", err)
	}
	if _, err := Create(t.Context(), app, "a.zip"); !errors.Is(err, ErrBusy) {
		t.Errorf("a second backup gave %v", err)
	}
	release()
	app.Store().Set(core.StoreKeyActiveBackup, "b.zip") // this process makes one
	if _, err := Create(t.Context(), app, "a.zip"); err == nil {
		t.Error("a second backup in one process was made")
	}
	app.Store().Remove(core.StoreKeyActiveBackup)
	if _, err := Create(t.Context(), app, "a.zip"); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Create(ctx, app, "a.zip"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled backup gave %v", err)
	}
	if _, err := os.Stat(archivePath(app, "a.zip")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cancelled backup is there (%v)", err)
	}
	wantNoRemains(t, app.DataDir())
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first, err := Lock(dir)
	if err != nil {
		t.Fatalf("locking: %v", err)
	}
	second, err := Lock(dir)
	if err != nil {
		t.Fatalf("sharing the lock: %v", err)
	}
	first()
	if _, err := lockExclusively(dir); !errors.Is(err, ErrServed) {
		t.Errorf("a folder that somebody has open gave %v", err)
	}
	second()
	alone, err := lockExclusively(dir)
	if err != nil {
		t.Fatalf("locking alone: %v", err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrRestoring) {
		t.Errorf("a folder that is being restored gave %v", err)
	}
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir})
	Bind(app)
	if err := app.Bootstrap(); !errors.Is(err, ErrRestoring) {
		t.Errorf("opening an app on it gave %v", err)
	}
	alone()
	if err := writeMarker(filepath.Join(dir, markerName), "/kept"); err != nil {
		t.Fatalf("marking: %v", err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), "/kept") {
		t.Errorf("a folder that was half restored gave %v", err)
	}
}

func TestAppSharesTheLock(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir())
	if err := app.Bootstrap(); err != nil { // again
		t.Fatalf("opening the app again: %v", err)
	}
	Bind(app)
	if _, err := lockExclusively(app.DataDir()); !errors.Is(err, ErrServed) {
		t.Errorf("the folder of an open app gave %v", err)
	}
	event := &core.TerminateEvent{App: app, IsRestart: true}
	if err := app.OnTerminate().Trigger(event); err != nil {
		t.Errorf("restarting: %v", err)
	}
	if _, err := lockExclusively(app.DataDir()); !errors.Is(err, ErrServed) {
		t.Errorf("the folder of an app whose restart failed gave %v", err)
	}
	const replica = "replica"
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{Id: replica, Priority: order.ReplicaEnds, Func: func(e *core.TerminateEvent) error {
		err := e.Next()
		if _, busy := lockExclusively(app.DataDir()); !errors.Is(busy, ErrServed) {
			t.Errorf("the folder of an app whose replica has not ended gave %v", busy)
		}
		return err
	}})
	terminate(t, app)
	app.OnTerminate().Unbind(replica)
	release, err := lockExclusively(app.DataDir())
	if err != nil {
		t.Fatalf("the folder of an app that ended: %v", err)
	}
	release()
}
