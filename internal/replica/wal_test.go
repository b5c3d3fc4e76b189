package replica_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/replica"
	"contactbase/internal/testkit"
)

// The WAL is reset once it is long, even if uploads are rare or fail.
func TestWALStaysShort(t *testing.T) {
	t.Parallel()
	const rounds, writes, size, bound = 3, 250, 80 << 10, 30 << 20 // 20 MiB a round
	store := newStore(t)
	app := testkit.NewApp(t)
	r, stop := start(t, config(store.URL("x")), app)
	if err := r.Acknowledge(t.Context()); err != nil { // the first snapshot
		t.Fatal(err)
	}
	testkit.Execute(t, app, "CREATE TABLE ballast (content BLOB)", nil)
	store.Stall()
	for range rounds {
		for range writes {
			testkit.Execute(t, app, "INSERT INTO ballast (content) VALUES (zeroblob({:size}))", dbx.Params{"size": size})
		}
		testkit.Eventually(t, "a reset of the WAL", func() bool {
			testkit.Execute(t, app, "INSERT INTO ballast (content) VALUES (x'')", nil) // a commit asks for it, and begins it
			var log struct{ Busy, Log, Checkpointed int }
			if err := app.DB().NewQuery("PRAGMA wal_checkpoint(NOOP)").Row(&log.Busy, &log.Log, &log.Checkpointed); err != nil {
				t.Fatal(err)
			}
			return log.Log < 1000
		})
	}
	log, err := os.Stat(filepath.Join(app.DataDir(), "data.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if log.Size() > bound {
		t.Errorf("the WAL has %d MiB", log.Size()>>20)
	}
	store.Resume()
	stop()
	folder := filepath.Join(t.TempDir(), "restored")
	if _, err := open(t, config(store.URL("x")), t.TempDir()).Restore(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	if count := testkit.Count(t, testkit.Open(t, folder), "SELECT count(*) FROM ballast WHERE content != x''", nil); count != rounds*writes {
		t.Errorf("%d of %d rows are restored", count, rounds*writes)
	}
}

// Whenever a server is stopped, the store has everything.
func TestStopAtAnyMoment(t *testing.T) {
	t.Parallel()
	async := config("file://" + t.TempDir())
	async.Mode, async.Interval = replica.Async, 50*time.Millisecond
	app := testkit.NewApp(t)
	const rounds = 20
	for round := range rounds {
		r := open(t, async, app.DataDir())
		if err := r.Start(app); err != nil {
			t.Fatal(err)
		}
		testkit.Tenant(t, app, "Acme")
		<-time.After(time.Duration(round) * 4 * time.Millisecond) // before, during and after the first snapshot
		if err := r.Stop(); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
	folder := filepath.Join(t.TempDir(), "restored")
	if _, err := open(t, async, t.TempDir()).Restore(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	if count, err := testkit.Open(t, folder).CountRecords("tenants"); err != nil || count != rounds {
		t.Errorf("%d of %d tenants are restored, %v", count, rounds, err)
	}
}
