package replica_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"contactbase/internal/replica"
	"contactbase/internal/testkit"
)

func TestLocationInTheDataDirectory(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dataDir, link := filepath.Join(parent, "pb_data"), filepath.Join(parent, "link")
	if err := os.Mkdir(dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dataDir, link); err != nil {
		t.Fatal(err)
	}
	for _, location := range []string{dataDir, filepath.Join(dataDir, "replica"), filepath.Join(link, "not", "yet"), filepath.Join(dataDir, "..", "pb_data")} {
		if _, err := replica.Open(config("file://"+location), dataDir); err == nil || !strings.Contains(err.Error(), "is in the data directory") {
			t.Errorf("a replica in %s: %v", location, err)
		}
	}
	for _, location := range []string{parent, filepath.Join(parent, "pb_data-replica"), filepath.Join(parent, "..pb_data")} {
		open(t, config("file://"+location), dataDir)
	}
}

// Litestream cannot open a database whose path has a character with a meaning in a URI.
func TestPathForLitestream(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"what?", "#1", "100%"} {
		if _, err := replica.Open(config("file://"+t.TempDir()), filepath.Join(t.TempDir(), name)); err == nil || !strings.Contains(err.Error(), "in its path: rename") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// If two machines replicate to one location, the first reports the problem, and does not serve again after a restart.
func TestDisplaced(t *testing.T) {
	t.Parallel()
	url := newStore(t).URL("x")
	app := testkit.NewApp(t)
	first, stop := start(t, config(url), app)
	if err := first.Acknowledge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if note, err := first.TestRestore(t.Context()); err != nil || note.Error != "" {
		t.Fatalf("a single machine: %+v (%v)", note, err)
	}
	second, _ := start(t, config(url), testkit.Open(t, restored(t, config(url))))
	if err := second.Acknowledge(t.Context()); err != nil {
		t.Fatal(err)
	}
	const says = "replicates to the same location"
	if note, err := first.TestRestore(t.Context()); err != nil || !strings.Contains(note.Error, says) {
		t.Errorf("the restore test of the first: %+v, %v", note, err)
	}
	if err := first.Status().Err(); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("the status of the first: %v", err)
	}
	if err := second.Status().Err(); err != nil {
		t.Errorf("the status of the second: %v", err)
	}
	stop()
	const refused = "has replaced this one"
	if err := open(t, config(url), app.DataDir()).Check(t.Context()); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("before the first starts again: %v", err)
	}
	again := open(t, config(url), app.DataDir()) // which cannot reach the store before it serves
	if err := again.Start(app); err != nil {
		t.Fatal(err)
	}
	testkit.Tenant(t, app, "Lost")
	if err := again.AwaitLoss(t.Context()); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("after the first has started again: %v", err)
	}
	if err := again.Status().Err(); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("it is ready: %v", err)
	}
	if err := again.Stop(); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("it stops with %v", err)
	}
	if note, err := second.TestRestore(t.Context()); err != nil || note.Error != "" {
		t.Errorf("the restore test of the second: %+v, %v", note, err)
	}
}

func TestSecondServerOfDataDirectory(t *testing.T) {
	t.Parallel()
	url := newStore(t).URL("x")
	app := testkit.NewApp(t)
	first, stop := start(t, config(url), app)
	if err := open(t, config(url), app.DataDir()).Start(app); err == nil || !strings.Contains(err.Error(), "another server replicates the data directory") {
		t.Errorf("a second server of the data directory: %v", err)
	}
	if err := first.Acknowledge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := replica.RequestStatus(t.Context(), app.DataDir()); err != nil {
		t.Errorf("commands no longer find the first server: %v", err)
	}
	stop()
	start(t, config(url), app)
}

// A standby fails at once if another server has its data directory.
func TestStandbyRefusesAServedDirectory(t *testing.T) {
	t.Parallel()
	leased := config(newStore(t).URL("x"))
	leased.Lease = 30 * time.Second
	app := testkit.NewApp(t)
	holder := open(t, leased, app.DataDir())
	if err := holder.RunStandby(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(app); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Stop() })
	if err := open(t, leased, app.DataDir()).RunStandby(t.Context(), t.Logf); err == nil || !strings.Contains(err.Error(), "another server replicates the data directory") {
		t.Errorf("a second server of the data directory: %v", err)
	}
	if err := replica.CheckFolder(app.DataDir()); err != nil {
		t.Errorf("commands on the data directory that is served: %v", err)
	}
}
