package sqlite

import (
	"testing"
	"testing/synctest"
	"time"
)

// Writable writes without changing anything, unless there was a recent commit.
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
				t.Errorf("Writable made %d commits, want %d", commits, wantCommits)
			}
		}
		asked(0)
		time.Sleep(commitProof)
		asked(1)
		asked(0)
		mustExec(t, writers, "PRAGMA query_only(1)")
		time.Sleep(commitProof)
		if err := writable(writers); err == nil || !IsUnavailable(err) {
			t.Errorf("for a read-only database it returns %v", err)
		}
	})
}
