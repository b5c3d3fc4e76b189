package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func TestRawStatements(t *testing.T) {
	t.Parallel()
	readers, writers := pools(t)
	var stop sync.WaitGroup
	done := make(chan struct{})
	for i := range 8 {
		stop.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if _, err := writers.Exec("INSERT INTO things (name) VALUES (?)", fmt.Sprint(i, "-", n)); err != nil {
					t.Errorf("writing: %v", err)
					return
				}
			}
		})
	}
	for _, query := range []string{
		"PRAGMA optimize", "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "CREATE INDEX things_x ON things (name, id)",
		"BEGIN; INSERT INTO things (name) VALUES ('script'); COMMIT", "ATTACH ':memory:' AS other", "DETACH other",
		"WITH new (name) AS (VALUES ('with')) INSERT INTO things (name) SELECT name FROM new",
	} {
		if _, err := writers.Exec(query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	mustExec(t, writers, "VACUUM INTO ?", copied)
	if _, err := writers.Exec("BEGIN"); !errors.Is(err, errLeftOpen) {
		t.Errorf("a raw BEGIN: %v", err)
	}
	if got := column(t, writers, "SELECT name FROM things WHERE name IN ('script', 'with') ORDER BY name"); got != "script with" {
		t.Errorf("got %q", got)
	}
	close(done)
	stop.Wait()
	if got := column(t, readers, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("the database is corrupt: %s", got)
	}
	mustExec(t, writers, "ATTACH ? AS copied", copied)
	if got := column(t, writers, "SELECT count(*) > 0 FROM copied.things"); got != "1" {
		t.Error("the copy is empty")
	}
}

func TestRowsOfWrites(t *testing.T) {
	t.Parallel()
	readers, writers := pools(t)
	const returning = "INSERT INTO things (name) VALUES ('a'), ('b') RETURNING name"
	before := stats(writers)
	if got := column(t, writers, returning); got != "a b" {
		t.Errorf("the rows of an insert are %q", got)
	}
	if got := stats(writers); got.Writes != before.Writes+1 {
		t.Errorf("the insert did not join a batch: %v after %v", got, before)
	}
	if got := column(t, readers, names); got != "a b" {
		t.Errorf("got %q", got)
	}
	if err := writers.QueryRow(returning).Scan(new(string)); err == nil {
		t.Error("a violated index gave no error")
	}

	prepared, err := writers.Prepare("INSERT INTO things (name) VALUES (:name) RETURNING id, upper(name)")
	if err != nil {
		t.Fatalf("preparing: %v", err)
	}
	defer prepared.Close()
	tx, err := writers.Begin()
	if err != nil {
		t.Fatalf("beginning: %v", err)
	}
	var id int
	var upper string
	if err := tx.Stmt(prepared).QueryRow(sql.Named("name", "c")).Scan(&id, &upper); err != nil || id != 3 || upper != "C" {
		t.Errorf("the prepared insert returned %d, %q, %v", id, upper, err)
	}
	if got := column(t, tx, names); got != "a b c" {
		t.Errorf("the transaction sees %q", got)
	}
	result, err := tx.Exec("UPDATE things SET name = name || '!' WHERE id > ?", 1)
	if err != nil {
		t.Fatalf("updating: %v", err)
	}
	if changed, err := result.RowsAffected(); changed != 2 || err != nil {
		t.Errorf("%d rows were changed, %v", changed, err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatalf("committing: %v", err)
	}
	if got := column(t, readers, names); got != "a b! c!" {
		t.Errorf("got %q", got)
	}
	if result, err = prepared.Exec(sql.Named("name", "d")); err != nil {
		t.Fatalf("running the prepared insert: %v", err)
	}
	if last, err := result.LastInsertId(); last != 4 || err != nil {
		t.Errorf("the last id is %d, %v", last, err)
	}
}

func TestCloseRefusesWaitingWriters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		tx, err := writers.Begin()
		if err != nil {
			t.Fatalf("beginning: %v", err)
		}
		mustExec(t, tx, "INSERT INTO things (name) VALUES ('a')")
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := insert(writers, "late")(); !errors.Is(err, errClosed) {
					t.Errorf("waiting ended with %v", err)
				}
			})
		}
		synctest.Wait()
		if err := writers.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		all.Wait()
		if err := tx.Commit(); err != nil {
			t.Errorf("ending the transaction: %v", err)
		}
		if got := column(t, readers, names); got != "a" {
			t.Errorf("got %q", got)
		}
		if w := writers.Driver().(pooled).connector.writer.Load(); w.connection != nil {
			t.Error("the physical connection is still open")
		}
	})
}

func TestMissingDirectory(t *testing.T) {
	t.Parallel()
	db, err := Connect(Full)(filepath.Join(t.TempDir(), "missing", dataFile))
	if err != nil {
		t.Fatalf("opening a pool: %v", err)
	}
	defer db.Close()
	db.DB().SetMaxOpenConns(1)
	for range 2 { // the first failure releases the lock
		tx, err := db.DB().Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(awaitLock, &lockRequest{}); err == nil {
			t.Error("a transaction got the lock")
		}
		if tx.Commit() == nil {
			t.Error("it was committed")
		}
		if _, err := db.DB().Exec("PRAGMA optimize"); err == nil {
			t.Error("a statement ran")
		}
	}
}

// With all kinds of writers, and statements that break batches, exactly the acknowledged writes are in the database.
func TestAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	readers, writers := pools(t)
	mustExec(t, writers, "INSERT INTO things (name) VALUES ('taken')")
	const insertion = "INSERT INTO things (name) VALUES (?)"
	refused := errors.New("refused")
	works := []func(ctx context.Context, name string) error{
		func(ctx context.Context, name string) error {
			_, err := writers.ExecContext(ctx, insertion, name)
			return err
		},
		func(ctx context.Context, name string) error {
			return writers.QueryRowContext(ctx, insertion+" RETURNING name", name).Scan(&name)
		},
		func(ctx context.Context, name string) error {
			tx, err := writers.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, insertion, name); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
		func(_ context.Context, name string) error {
			return inTransaction(writers, func(tx *sql.Tx) error {
				if _, err := tx.Exec(insertion, name); err != nil {
					return err
				}
				return refused
			})()
		},
		func(context.Context, string) error {
			_, err := writers.Exec(insertion, "taken")
			return err
		},
		func(_ context.Context, name string) error {
			return inTransaction(writers, func(tx *sql.Tx) error {
				if _, err := tx.Exec(insertion, name); err != nil {
					return err
				}
				_, err := tx.Exec("INSERT OR ROLLBACK INTO things (name) VALUES ('taken')")
				return err
			})()
		},
		func(context.Context, string) error {
			_, err := writers.Exec("PRAGMA optimize")
			return errors.Join(err, refused) // writes nothing
		},
	}
	var mu sync.Mutex
	want := map[string]bool{"taken": true}
	var all sync.WaitGroup
	for worker := range 32 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for i := range 60 {
				name := fmt.Sprint(worker, "-", i)
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(4) == 0 {
					go cancel() // at some time
				}
				err := works[random.IntN(len(works))](ctx, name)
				cancel()
				mu.Lock()
				want[name] = err == nil
				mu.Unlock()
			}
		})
	}
	all.Wait()
	got := map[string]bool{}
	for name := range strings.FieldsSeq(column(t, readers, names)) {
		got[name] = true
	}
	acknowledged := 0
	for name, there := range want {
		if got[name] != there {
			t.Errorf("%s: acknowledged %v, found %v", name, there, got[name])
		}
		if there {
			acknowledged++
		}
	}
	if acknowledged < 100 {
		t.Errorf("only %d writes succeeded", acknowledged)
	}
}
