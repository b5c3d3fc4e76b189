package replica_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/replica"
	"contactbase/internal/replica/fakes3"
	"contactbase/internal/testkit"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("AWS_ACCESS_KEY_ID", "test")
	_ = os.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	code := m.Run()
	testkit.Cleanup()
	os.Exit(code)
}

func newStore(t *testing.T) *fakes3.Store {
	t.Helper()
	s := fakes3.New()
	t.Cleanup(s.Close)
	return s
}

func config(url string) replica.Config {
	return replica.Config{URL: url, Mode: replica.Sync, Interval: time.Hour, Timeout: 10 * time.Second}
}

// open returns the replica of a data directory.
func open(t *testing.T, config replica.Config, dataDir string) *replica.Replica {
	t.Helper()
	r, err := replica.Open(config, dataDir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// start replicates the app until the function that it returns is called, or the test ends.
func start(t *testing.T, config replica.Config, app core.App) (r *replica.Replica, stop func()) {
	t.Helper()
	r = open(t, config, app.DataDir())
	if err := r.Start(app); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = r.Stop() // it fails if the store is unreachable
		}
	}
	t.Cleanup(stop)
	return r, stop
}

// acknowledged waits until the store has all commits.
func acknowledged(t *testing.T, r *replica.Replica) {
	t.Helper()
	if err := r.Acknowledge(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// replicated returns an app with a tenant, and its replica in a directory.
func replicated(t *testing.T) (app core.App, tenant string, r *replica.Replica, location string) {
	t.Helper()
	location = t.TempDir()
	app = testkit.NewApp(t)
	r, _ = start(t, config("file://"+location), app)
	tenant = testkit.Tenant(t, app, "Acme")
	acknowledged(t, r)
	return app, tenant, r, location
}

// holder returns an app with a tenant on the machine that has the lease.
func holder(t *testing.T, leased replica.Config) (app core.App, r *replica.Replica) {
	t.Helper()
	app = testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	r = open(t, leased, app.DataDir())
	if err := r.RunStandby(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(app); err != nil {
		t.Fatal(err)
	}
	acknowledged(t, r)
	return app, r
}

func TestRestore(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"folder": "file://" + t.TempDir(), "bucket": newStore(t).URL("a/folder")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			r, _ := start(t, config(url), app)
			for range 3 { // the first in the snapshot, the others behind it
				testkit.Tenant(t, app, "Acme")
				if err := r.Acknowledge(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			folder := filepath.Join(t.TempDir(), "restored")
			done, err := open(t, config(url), t.TempDir()).Restore(t.Context(), folder)
			if err != nil || done.Generation != 1 {
				t.Fatalf("%+v, %v", done, err)
			}
			restored := testkit.Open(t, folder)
			if count, err := restored.CountRecords("tenants"); err != nil || count != 3 {
				t.Errorf("%d of 3 tenants are there, %v", count, err)
			}
			if _, err := open(t, config(url), t.TempDir()).Restore(t.Context(), folder); err == nil || !strings.Contains(err.Error(), "not empty") {
				t.Errorf("a second restore to the directory: %v", err)
			}
		})
	}
}

func TestAcknowledge(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	app := testkit.NewApp(t)
	impatient := config(store.URL("x"))
	impatient.Timeout = 300 * time.Millisecond
	patient, _ := start(t, config(store.URL("x")), app)
	if err := patient.Acknowledge(t.Context()); err != nil {
		t.Fatalf("at first: %v", err)
	}
	puts := store.Puts()
	if err := patient.Acknowledge(t.Context()); err != nil || store.Puts() != puts {
		t.Errorf("without new commits, Acknowledge sends %d requests (%v)", store.Puts()-puts, err)
	}
	store.Stall()
	testkit.Tenant(t, app, "Acme")
	ctx, cancel := context.WithTimeout(t.Context(), impatient.Timeout)
	defer cancel()
	if err := patient.Acknowledge(ctx); !errors.Is(err, replica.ErrUnreplicated) {
		t.Errorf("while the store stalls: %v", err)
	}
	// a caller that has written nothing may have read what others wrote, so it waits, too
	answered := make(chan error, 1)
	go func() { answered <- patient.Acknowledge(t.Context()) }()
	store.Resume()
	if err := <-answered; err != nil {
		t.Errorf("once the store resumes: %v", err)
	}
	if status := patient.Status(); status.LagTransactions != 0 || status.State != replica.Active || status.Error != nil {
		t.Errorf("afterwards: %+v", status)
	}
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	store.SetAway(true)
	app := testkit.NewApp(t)
	r, _ := start(t, config(store.URL("x")), app)
	testkit.Eventually(t, "the reason", func() bool { return r.Status().Error != nil })
	if status := r.Status(); status.State != replica.Starting || !strings.Contains(*status.Error, "503") {
		t.Errorf("without a store: %+v", status)
	}
	testkit.Tenant(t, app, "Acme") // which is written all the same
	store.SetAway(false)
	if err := r.Acknowledge(t.Context()); err != nil {
		t.Errorf("once the store is reachable: %v", err)
	}
}

func TestRestoreTest(t *testing.T) {
	t.Parallel()
	app, _, r, location := replicated(t)
	note, err := replica.RequestRestoreTest(t.Context(), app.DataDir())
	if err != nil || note.Error != "" || note.Rows == 0 {
		t.Fatalf("a correct replica: %+v (%v)", note, err)
	}
	if err := r.Status().Err(); err != nil {
		t.Errorf("a correct replica: %v", err)
	}
	// Litestream may upload its first snapshot meanwhile, which is correct
	testkit.Eventually(t, "a failed restore test", func() bool {
		damage(t, filepath.Join(location, "1", "data.db"))
		note, err := r.TestRestore(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return note.Error != ""
	})
	if err := r.Status().Err(); err == nil || !strings.Contains(err.Error(), "restore test") {
		t.Errorf("after the restore test of a damaged replica: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(app.DataDir(), ".contactbase_replica", "restore-test-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("restore tests leave %q (%v)", left, err)
	}
	if again := open(t, config("file://"+location), app.DataDir()); again.Status().RestoreTest == nil {
		t.Error("the result is lost after a restart")
	}
}

// damage truncates each file in a directory to half its size.
func damage(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestGenerations(t *testing.T) {
	t.Parallel()
	url := newStore(t).URL("x")
	var app core.App = testkit.NewApp(t)
	generation := func() int64 {
		r, stop := start(t, config(url), app)
		testkit.Tenant(t, app, "Acme")
		if err := r.Acknowledge(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer stop()
		return r.Status().Generation
	}
	first, restarted := generation(), generation()
	if first != 1 || restarted != 1 {
		t.Errorf("a data directory starts with generation %d, and continues with %d", first, restarted)
	}
	app = testkit.Open(t, restored(t, config(url)))
	if first, again := generation(), generation(); first != 2 || again != 2 {
		t.Errorf("a restored data directory starts generation %d, and continues with %d", first, again)
	}
	if count, err := testkit.Open(t, restored(t, config(url))).CountRecords("tenants"); err != nil || count != 4 {
		t.Errorf("%d of 4 tenants are restored, %v", count, err)
	}
}

// A start deletes unfinished files of a killed process in the directory of the replica.
func TestUnfinishedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	location := t.TempDir()
	left := filepath.Join(location, ".writing-1")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	r, _ := start(t, config("file://"+location), testkit.NewApp(t))
	acknowledged(t, r)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestFlush(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	app := testkit.NewApp(t)
	if err := replica.Flush(t.Context(), app.DataDir()); err != nil {
		t.Errorf("without a server: %v", err)
	}
	impatient := config(store.URL("x"))
	impatient.Timeout = 300 * time.Millisecond
	r, stop := start(t, impatient, app)
	testkit.Eventually(t, "the first snapshot", func() bool { return r.Status().State == replica.Active })
	if err := replica.Flush(t.Context(), app.DataDir()); err != nil {
		t.Errorf("of a command: %v", err)
	}
	store.SetAway(true)
	testkit.Tenant(t, app, "Acme")
	if err := replica.Flush(t.Context(), app.DataDir()); err == nil || !strings.Contains(err.Error(), replica.ErrUnreplicated.Error()) {
		t.Errorf("of a command without a store: %v", err)
	}
	store.SetAway(false)
	stop()
	if err := replica.Flush(t.Context(), app.DataDir()); err != nil {
		t.Errorf("after the server: %v", err)
	}
}
