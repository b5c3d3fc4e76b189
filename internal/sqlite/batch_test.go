package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// together calls writers that share one batch, and returns their errors. They start in order while a transaction is
// open, which ends once all of them wait for the lock.
func together(t *testing.T, writers *sql.DB, each ...func() error) []error {
	t.Helper()
	first, err := writers.Begin()
	if err != nil {
		t.Fatalf("beginning: %v", err)
	}
	mustExec(t, first, awaitLock, &lockRequest{})
	var all sync.WaitGroup
	errs := make([]error, len(each))
	for i, writer := range each {
		all.Go(func() { errs[i] = writer() })
		synctest.Wait()
	}
	if err := first.Rollback(); err != nil {
		t.Fatalf("rolling back: %v", err)
	}
	all.Wait()
	return errs
}

// insert returns a writer that inserts a row by a write function.
func insert(writers *sql.DB, name string) func() error {
	return function(writers, Statement{"INSERT INTO things (name) VALUES (?)", []any{name}})
}

// function returns a writer with a write function that returns statements.
func function(writers *sql.DB, statements ...Statement) func() error {
	return func() error {
		_, err := writeAs(context.Background(), writers, byFunction, "", func(Reader) ([]Statement, error) { return statements, nil })
		return err
	}
}

// single returns a writer that inserts a row outside of a transaction.
func single(writers *sql.DB, name string) func() error {
	return func() error {
		_, err := writers.Exec("INSERT INTO things (name) VALUES (?)", name)
		return err
	}
}

// inTransaction returns a writer that runs a short transaction.
func inTransaction(writers *sql.DB, run func(tx *sql.Tx) error) func() error {
	return func() error {
		tx, err := writers.Begin()
		if err != nil {
			return err
		}
		if _, err := tx.Exec(awaitLock, &lockRequest{short: true}); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if err := run(tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
}

const names = "SELECT name FROM things ORDER BY name"

func TestBatchSharesOneCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		before := stats(writers)
		const count = 20
		var each []func() error
		for i := range count {
			if i%2 == 0 {
				each = append(each, insert(writers, fmt.Sprintf("%02d", i)))
				continue
			}
			each = append(each, inTransaction(writers, func(tx *sql.Tx) error {
				if found := column(t, readers, names); found != "" {
					t.Errorf("readers see %q before the commit", found)
				}
				_, err := tx.Exec("INSERT INTO things (name) VALUES (?)", fmt.Sprintf("%02d", i))
				return err
			}))
		}
		for i, err := range together(t, writers, each...) {
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		}
		if got := strings.Count(column(t, readers, names), " ") + 1; got != count {
			t.Errorf("%d rows, want %d", got, count)
		}
		after := stats(writers)
		if after.Commits-before.Commits != 1 || after.Writes-before.Writes != count {
			t.Errorf("%d commits and %d writes, want 1 and %d", after.Commits-before.Commits, after.Writes-before.Writes, count)
		}
	})
}

func TestFailedTransactionAffectsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		mustExec(t, writers, "INSERT INTO things (name) VALUES ('taken')")
		refused := errors.New("refused")
		errs := together(t, writers,
			insert(writers, "a"),
			insert(writers, "taken"),
			inTransaction(writers, func(tx *sql.Tx) error {
				mustExec(t, tx, "INSERT INTO things (name) VALUES ('never')")
				mustExec(t, tx, "DELETE FROM things WHERE name = 'a'")
				return refused
			}),
			inTransaction(writers, func(tx *sql.Tx) error {
				mustExec(t, tx, "INSERT INTO things (name) VALUES ('b')")
				if _, err := tx.Exec("INSERT INTO things (name) VALUES ('c'), ('taken')"); err == nil {
					t.Error("a violated index gave no error")
				}
				return nil // continues, as it may
			}),
			func() error {
				_, err := writers.Exec("INSERT INTO nowhere VALUES (1)")
				return err
			},
			insert(writers, "d"),
		)
		for i, want := range []string{"", "UNIQUE constraint failed", "refused", "", "no such table", ""} {
			if got := fmt.Sprint(errs[i]); (errs[i] == nil) != (want == "") || !strings.Contains(got, want) {
				t.Errorf("writer %d: got %v, want %q", i, errs[i], want)
			}
		}
		if got := column(t, readers, names); got != "a b d taken" {
			t.Errorf("got %q", got)
		}
	})
}

func TestBatchOfRollbacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		before := stats(writers)
		refused := errors.New("refused")
		var each []func() error
		for i := range 5 {
			each = append(each, inTransaction(writers, func(tx *sql.Tx) error {
				mustExec(t, tx, "INSERT INTO things (name) VALUES (?)", i)
				return refused
			}))
		}
		for i, err := range together(t, writers, each...) {
			if !errors.Is(err, refused) {
				t.Errorf("writer %d: %v", i, err)
			}
		}
		if got := column(t, readers, names); got != "" {
			t.Errorf("got %q", got)
		}
		if got := stats(writers); got != before {
			t.Errorf("commits and writes went from %v to %v", before, got)
		}
	})
}

// wantLost checks that only the failing writer gets the error of the batch.
func wantLost(t *testing.T, errs []error, culprit int, cause string) {
	t.Helper()
	for i, err := range errs {
		if i == culprit && (!errors.Is(err, ErrBatch) || !strings.Contains(err.Error(), cause)) {
			t.Errorf("the failing writer: got %v, want ErrBatch with the cause %q", err, cause)
		}
		if i != culprit && err != nil {
			t.Errorf("another writer, %d: %v", i, err)
		}
	}
}

func TestFailedCommitRunsOthersAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		mustExec(t, writers, "CREATE TABLE parts (thing INTEGER REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)")
		errs := together(t, writers,
			insert(writers, "a"),
			inTransaction(writers, func(tx *sql.Tx) error {
				_, err := tx.Exec("INSERT INTO parts VALUES (99)")
				return err
			}),
			insert(writers, "b"),
		)
		wantLost(t, errs, 1, "FOREIGN KEY constraint failed")
		if got := column(t, readers, names); got != "a b" {
			t.Errorf("got %q", got)
		}
	})
}

func TestBatchThatSQLiteRollsBackRunsAgainWithoutTheCulprit(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"full disk":         "INSERT INTO blobs VALUES (zeroblob(4000000))",
		"conflict clause":   "INSERT OR ROLLBACK INTO things (name) VALUES ('taken')",
		"raw commit":        "COMMIT",
		"raw rollback":      "ROLLBACK",
		"script":            "INSERT INTO things (name) VALUES ('x'); COMMIT; INSERT INTO things (name) VALUES ('y')",
		"foreign savepoint": "RELEASE contactbase_transaction",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				readers, writers := pools(t)
				mustExec(t, writers, "CREATE TABLE blobs (data BLOB)")
				mustExec(t, writers, "INSERT INTO things (name) VALUES ('taken')")
				mustExec(t, writers, "PRAGMA max_page_count = 100") // 400 kB
				errs := together(t, writers,
					insert(writers, "a"),
					inTransaction(writers, func(tx *sql.Tx) error {
						mustExec(t, tx, "INSERT INTO things (name) VALUES ('b')")
						_, _ = tx.Exec(end) // continues, as if it had not noticed
						_, _ = tx.Exec("INSERT INTO things (name) VALUES ('stray')")
						return nil
					}),
				)
				wantLost(t, errs, 1, "")
				found := column(t, readers, names)
				if strings.Contains(found, "stray") {
					t.Errorf("a statement after the end of its transaction succeeded: %q", found)
				}
				// a raw COMMIT cannot be undone; its writer got an error
				if committed := name == "raw commit" || name == "script"; !committed && found != "a taken" {
					t.Errorf("got %q", found)
				}
				if errs := together(t, writers, insert(writers, "after"), insert(writers, "wards")); errs[0] != nil || errs[1] != nil {
					t.Errorf("after a batch failed: %v", errs)
				}
			})
		})
	}
}

func TestBatchLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, writers := pools(t)
		before := stats(writers)
		errs := together(t, writers,
			inTransaction(writers, func(tx *sql.Tx) error {
				_, err := tx.Exec("INSERT INTO things (name) VALUES ('old')")
				time.Sleep(maxBatchAge) // of the clock of the test
				return err
			}),
			insert(writers, "next"),
		)
		if errs[0] != nil || errs[1] != nil {
			t.Errorf("errors: %v", errs)
		}
		if got := stats(writers).Commits - before.Commits; got != 2 {
			t.Errorf("%d commits, want one when the batch was too old and one after it", got)
		}
	})
	if !(&batch{began: time.Now().Add(time.Hour), writes: maxBatchWrites}).full() {
		t.Error("a batch with the maximum of writes is not full")
	}
}

func TestBatchAndCancelledContexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		waiting, cancelWaiting := context.WithCancel(t.Context())
		running, cancelRunning := context.WithCancel(t.Context())
		errs := together(t, writers,
			insert(writers, "a"),
			func() error {
				_, err := writers.ExecContext(waiting, "INSERT INTO things (name) VALUES ('never')")
				return err
			},
			func() error {
				tx, err := writers.BeginTx(running, nil)
				if err != nil {
					return err
				}
				mustExec(t, tx, "INSERT INTO things (name) VALUES ('gone')")
				cancelRunning()
				_, err = tx.Exec("INSERT INTO things (name) VALUES ('gone too')")
				return errors.Join(err, tx.Commit())
			},
			func() error {
				cancelled, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := writers.ExecContext(cancelled, "INSERT INTO things (name) VALUES ('not begun')")
				return err
			},
			insert(writers, "b"),
			func() error { // everybody before still waits
				cancelWaiting()
				return nil
			},
		)
		for i, cancelled := range []bool{false, true, true, true, false, false} {
			// database/sql may have ended the transaction before its next statement.
			if got := errors.Is(errs[i], context.Canceled) || errors.Is(errs[i], sql.ErrTxDone); got != cancelled {
				t.Errorf("writer %d: %v", i, errs[i])
			}
		}
		if got := column(t, readers, names); got != "a b" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		first, err := writers.Begin()
		if err != nil {
			t.Fatalf("beginning: %v", err)
		}
		mustExec(t, first, "INSERT INTO things (name) VALUES ('a')")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				tx, err := writers.BeginTx(ctx, nil)
				if err != nil {
					t.Errorf("beginning: %v", err)
					return
				}
				if _, err := tx.ExecContext(ctx, awaitLock, &lockRequest{}); !errors.Is(err, context.Canceled) {
					t.Errorf("waiting ended with %v", err)
				}
				if err := tx.Commit(); err == nil {
					t.Error("a transaction without the lock was committed")
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if err := first.Commit(); err != nil { // nobody is left who could commit for it
			t.Errorf("committing: %v", err)
		}
		if got := column(t, readers, names); got != "a" {
			t.Errorf("got %q", got)
		}
	})
}
