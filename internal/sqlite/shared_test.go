package sqlite

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// reading is an app that only reads.
type reading struct {
	core.App
	db dbx.Builder
}

func (r reading) ConcurrentDB() dbx.Builder { return r.db }

// Concurrent callers share what one of them reads, until the next commit, and not for long.
func TestShared(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("each caller reads")
	}
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		app := reading{db: dbx.NewFromDB(readers, driverName)}
		var shared Shared[string, string]
		var reads atomic.Int32
		expect := func(key, want string, wantReads int32) {
			t.Helper()
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					got := shared.Get(app, key, func() string {
						reads.Add(1)
						return column(t, readers, names)
					})
					if got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				})
			}
			all.Wait()
			if got := reads.Load(); got != wantReads {
				t.Errorf("%d reads, want %d", got, wantReads)
			}
		}
		expect("a", "", 1)
		expect("b", "", 2)
		mustExec(t, writers, "INSERT INTO things (name) VALUES ('x')")
		expect("a", "x", 3)
		expect("a", "x", 3)
		shared.Large = func(value string) bool { return value == "large" }
		for range 2 {
			shared.Get(app, "c", func() string { reads.Add(1); return "large" })
		}
		if reads.Load() != 5 {
			t.Error("a large value was kept")
		}
		reads.Store(3)
		time.Sleep(sharedAge)
		synctest.Wait()
		if len(shared.values) > 0 {
			t.Errorf("%d values are left", len(shared.values))
		}
		expect("a", "x", 4)
	})
}
