package sqlite

import (
	"testing"
	"testing/synctest"
	"time"
)

// Where nothing was written lately a write that leaves all as it was reports whether the database can be written; what was just
// committed is proof enough.
func TestWritable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, writers := pools(t)
		mustExec(t, writers, "CREATE TABLE _migrations (file TEXT PRIMARY KEY, applied INTEGER)")
		mustExec(t, writers, "INSERT INTO _migrations VALUES ('first', 1)")
		asked := func(wantCommits uint64) {
			t.Helper()
			before := stats(writers).Commits
			if err := writable(writers); err != nil {
				t.Error(err)
			}
			if commits := stats(writers).Commits - before; commits != wantCommits {
				t.Errorf("to ask took %d commits, not %d", commits, wantCommits)
			}
		}
		asked(0)
		time.Sleep(commitProof)
		asked(1)
		asked(0)
		mustExec(t, writers, "PRAGMA query_only(1)")
		time.Sleep(commitProof)
		if err := writable(writers); err == nil || !IsUnavailable(err) {
			t.Errorf("of a database that takes no write it says %v", err)
		}
	})
}
