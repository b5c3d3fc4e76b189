package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pocketbase/pocketbase/core"
)

var errFound = errors.New("found an uncommitted row")

// finder returns a writer with a write function that refuses to write once it finds a part, and
// otherwise inserts a row.
func finder(ctx context.Context, t *testing.T, writers *sql.DB) func() error {
	return func() error {
		_, err := writeAs(ctx, writers, byFunction, "", func(tx Reader) ([]Statement, error) {
			if column(t, tx, "SELECT thing FROM parts") != "" {
				return nil, errFound
			}
			return []Statement{{"INSERT INTO things (name) VALUES ('none found')", nil}}, nil
		})
		return err
	}
}

// orphan returns a writer that inserts a part of a thing that does not exist, so that the commit fails.
func orphan(writers *sql.DB) func() error {
	return inTransaction(writers, func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO parts VALUES (99)")
		return err
	})
}

func withParts(t *testing.T) (readers, writers *sql.DB) {
	readers, writers = pools(t)
	mustExec(t, writers, "CREATE TABLE parts (thing INTEGER REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)")
	return readers, writers
}

// A write function that fails because of a row that is never committed runs again.
func TestErrorOfAFailedBatchIsDecidedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := withParts(t)
		errs := together(t, writers, insert(writers, "a"), orphan(writers), finder(t.Context(), t, writers))
		wantLost(t, errs, 1, "FOREIGN KEY constraint failed")
		if got := column(t, readers, names); got != "a none found" {
			t.Errorf("got %q", got)
		}
	})
}

// The error of a write function leaves after the commit of what it found, unless its caller leaves before.
func TestErrorWaitsForTheCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, writers := withParts(t)
		gone, leave := context.WithCancel(t.Context())
		var early, left bool
		hook := func() error { // of the batch's commit
			leave()
			synctest.Wait()
			if early {
				t.Error("the error was returned before the commit")
			}
			if !left {
				t.Error("the caller that left still waits")
			}
			return nil
		}
		errs := together(t, writers,
			inTransaction(writers, func(tx *sql.Tx) error {
				poolWriter(writers).preCommit.Store(&hook)
				mustExec(t, tx, "INSERT INTO things (id, name) VALUES (1, 'a')")
				_, err := tx.Exec("INSERT INTO parts VALUES (1)")
				return err
			}),
			func() error {
				defer func() { early = true }()
				return finder(t.Context(), t, writers)()
			},
			func() error {
				defer func() { left = true }()
				return finder(gone, t, writers)()
			},
		)
		if errs[0] != nil || !errors.Is(errs[1], errFound) || !errors.Is(errs[2], context.Canceled) {
			t.Errorf("the writers return %v", errs)
		}
	})
}

// A short transaction that fails because of a row that is never committed runs again.
func TestErrorOfAShortTransactionIsDecidedAgain(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	mustExec(t, connectorOf(app.NonconcurrentDB()).pool, "CREATE TABLE parts (thing TEXT REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)")
	calls := 0
	writers := []func(tx core.App) error{
		func(tx core.App) error {
			_, err := Run(tx, []Statement{{"INSERT INTO parts VALUES ('nothing')", nil}})
			return err
		},
		func(tx core.App) error {
			calls++
			if column(t, ReaderOf(tx), "SELECT thing FROM parts") != "" {
				return errFound
			}
			return tx.Save(thing(t, tx, "none found"))
		},
	}
	errs := make([]error, len(writers))
	var all sync.WaitGroup
	err := Exclusive(t.Context(), app, func() error {
		for i, write := range writers {
			all.Go(func() { errs[i] = Transact(t.Context(), app, "", true, write) })
			awaitWaiters(&writerOf(app).lock, i+1)
		}
		return nil
	})
	all.Wait()
	if err != nil || !errors.Is(errs[0], ErrBatch) || errs[1] != nil {
		t.Errorf("the writers return %v (%v)", errs, err)
	}
	if calls != 2 {
		t.Errorf("the second transaction ran %d times, want 2", calls)
	}
	if got := column(t, Direct(app.ConcurrentDB()), names); got != "none found" {
		t.Errorf("got %q", got)
	}
}

// awaitWaiters returns once that many writers wait for the lock.
func awaitWaiters(l *writerLock, want int) {
	for waiting := 0; waiting < want; runtime.Gosched() {
		l.mu.Lock()
		waiting = 0
		for _, q := range l.queues {
			waiting += len(q.waiters)
		}
		l.mu.Unlock()
	}
}
