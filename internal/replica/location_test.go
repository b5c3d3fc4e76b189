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

// Of two machines with one location, the one that was there first says so, and does not take it back when it is started again.
func TestDisplaced(t *testing.T) {
	t.Parallel()
	url := newStore(t).URL("x")
	app := testkit.NewApp(t)
	first, stop := start(t, config(url), app)
	if err := first.Acknowledge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if note, err := first.TestRestore(t.Context()); err != nil || note.Error != "" {
		t.Fatalf("a machine alone: %+v, %v", note, err)
	}
	second, _ := start(t, config(url), testkit.NewApp(t))
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
	again, _ := start(t, config(url), app)
	testkit.Eventually(t, "an error of the first", func() bool {
		found := again.Status().Error
		return found != nil && strings.Contains(*found, "has replaced this one")
	})
	if note, err := second.TestRestore(t.Context()); err != nil || note.Error != "" {
		t.Errorf("the restore test of the second: %+v, %v", note, err)
	}
}

func TestOneServerReplicatesAFolder(t *testing.T) {
	t.Parallel()
	url := newStore(t).URL("x")
	app := testkit.NewApp(t)
	first, stop := start(t, config(url), app)
	if err := open(t, config(url), app.DataDir()).Start(app); err == nil || !strings.Contains(err.Error(), "another server replicates the data directory") {
		t.Errorf("a second server of the folder: %v", err)
	}
	if err := first.Acknowledge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := replica.RequestStatus(t.Context(), app.DataDir()); err != nil {
		t.Errorf("the first is not found any more: %v", err)
	}
	stop()
	start(t, config(url), app)
}

// A second server of a folder leaves it to the first, instead of having it wait for that.
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
		t.Errorf("a second server of the folder: %v", err)
	}
	if err := replica.CheckFolder(app.DataDir()); err != nil {
		t.Errorf("commands where the contacts are served: %v", err)
	}
}
