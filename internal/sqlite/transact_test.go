package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// The error of a write function or of its first statement affects no other writer. If a later statement fails, the
// batch fails, and its other transactions run again.
func TestWriteFunctions(t *testing.T) {
	t.Parallel()
	insertion := func(name string) Statement { return Statement{"INSERT INTO things (name) VALUES (?)", []any{name}} }
	refused := errors.New("refused")
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		mustExec(t, writers, "INSERT INTO things (name) VALUES ('taken')")
		before := stats(writers)
		errs := together(t, writers,
			insert(writers, "a"),
			func() error {
				_, err := writeAs(context.Background(), writers, byFunction, "", func(tx Reader) ([]Statement, error) {
					if found := column(t, tx, names); found != "a taken" {
						t.Errorf("a write function reads %q", found)
					}
					if _, err := tx.Query("INSERT INTO things (name) VALUES ('sneaked in') RETURNING name"); err == nil { //nolint:rowserrcheck // there are none
						t.Error("a write function writes while it reads")
					}
					return []Statement{insertion("never")}, refused
				})
				return err
			},
			function(writers, insertion("taken")),
			function(writers, Statement{Text: "DROP TABLE things"}),
			insert(writers, "b"),
		)
		for i, want := range []string{"", "refused", "UNIQUE constraint failed", "a write function may only read and write rows", ""} {
			if got := fmt.Sprint(errs[i]); (errs[i] == nil) != (want == "") || !strings.Contains(got, want) {
				t.Errorf("writer %d: got %v, want %q", i, errs[i], want)
			}
		}
		if after := stats(writers); after.Commits != before.Commits+1 {
			t.Errorf("%d commits, want one", after.Commits-before.Commits)
		}

		errs = together(t, writers,
			insert(writers, "c"),
			inTransaction(writers, func(tx *sql.Tx) error {
				mustExec(t, tx, "INSERT INTO things (name) VALUES ('cannot run again')")
				return nil
			}),
			function(writers, insertion("goes first"), insertion("taken")),
			insert(writers, "d"),
		)
		if errs[0] != nil || !errors.Is(errs[1], ErrBatch) || errs[2] == nil || errors.Is(errs[2], ErrBatch) || errs[3] != nil {
			t.Errorf("the writers return %v", errs)
		}
		if got := column(t, readers, names); got != "a b c d taken" {
			t.Errorf("got %q", got)
		}
	})
}

// Transact runs again if another transaction makes the batch fail. Write becomes a part of an open transaction.
func TestTransact(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	calls := 0
	err := Transact(t.Context(), app, "", true, func(tx core.App) error {
		if calls++; calls == 1 {
			return fmt.Errorf("%w: another transaction failed", ErrBatch)
		}
		return Transact(t.Context(), tx, "", true, func(inner core.App) error {
			_, err := Write(inner, func(Reader) ([]Statement, error) {
				return []Statement{{"INSERT INTO things (id, name) VALUES ('a', 'a')", nil}}, nil
			})
			if err != nil {
				return err
			}
			part := Savepoint(inner, func() error {
				if _, err := Run(inner, []Statement{{"INSERT INTO things (id, name) VALUES ('b', 'b')", nil}}); err != nil {
					t.Errorf("writing a part: %v", err)
				}
				return errors.New("undone")
			})
			if fmt.Sprint(part) != "undone" {
				t.Errorf("a part ends with %v", part)
			}
			return Savepoint(inner, func() error {
				_, err := Run(inner, []Statement{{"INSERT INTO things (id, name) VALUES ('c', 'c')", nil}})
				return err
			})
		})
	})
	if err != nil || calls != 2 {
		t.Fatalf("%d calls end with %v", calls, err)
	}
	if got := column(t, Direct(app.ConcurrentDB()), names); got != "a c" {
		t.Errorf("got %q", got)
	}
}

// TransactRecord writes all or nothing, on behalf of the record's tenant, and gives the event its app back.
func TestTransactRecord(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	refused := errors.New("refused")
	for _, want := range []error{refused, nil} {
		record := thing(t, app, "main")
		record.SetRaw("tenant", "a")
		e := &core.RecordEvent{}
		e.App, e.Record = app, record
		err := TransactRecord(e, func(tx core.App) error {
			if e.App != tx || !tx.IsTransactional() {
				t.Error("the event has not the app of the transaction")
			}
			return errors.Join(tx.Save(thing(t, tx, "beside")), want)
		})
		if !errors.Is(err, want) || e.App != app {
			t.Errorf("it returns %v, want %v; the event has its app back: %t", err, want, e.App == app)
		}
		wrote := column(t, Direct(app.ConcurrentDB()), names)
		if (wrote == "beside") != (want == nil) || want == nil && writerOf(app).lastOwner != "a" {
			t.Errorf("after %v there is %q, written on behalf of %q", want, wrote, writerOf(app).lastOwner)
		}
	}
}

// Execute writes all of its statements or none.
func TestExecute(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	insertion := func(id, name string) Statement {
		return Statement{"INSERT INTO things (id, name) VALUES (?, ?)", []any{id, name}}
	}
	if changed, err := Execute(app, insertion("1", "a"), insertion("2", "a")); err == nil {
		t.Errorf("a taken name changes %v rows", changed)
	}
	changed, err := Execute(app, insertion("1", "a"), insertion("2", "b"), Statement{Text: "UPDATE things SET name = name || 'z'"})
	if err != nil || fmt.Sprint(changed) != "[1 1 2]" {
		t.Errorf("%v rows are changed (%v)", changed, err)
	}
	if got := column(t, Direct(app.ConcurrentDB()), names); got != "az bz" {
		t.Errorf("got %q", got)
	}
}

// A repeated statement ends at the first run that fails. Only the end of the transaction decides about earlier runs.
func TestRepeat(t *testing.T) {
	t.Parallel()
	repeat := func(tx *sql.Tx, names ...string) (int64, error) {
		lists := make([][]any, len(names))
		for i, name := range names {
			lists[i] = []any{name}
		}
		s := Repeat("INSERT INTO things (name) VALUES (?)", lists)
		result, err := tx.Exec(s.Text, s.Args...)
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	}
	fails := func(tx *sql.Tx, done int, names ...string) error {
		_, err := repeat(tx, names...)
		var stopped *StatementError
		if !errors.As(err, &stopped) || stopped.Done != done || !strings.Contains(err.Error(), "UNIQUE constraint failed") {
			t.Errorf("%v ends with %v", names, err)
		}
		return err
	}
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		errs := together(t, writers,
			insert(writers, "first"),
			inTransaction(writers, func(tx *sql.Tx) error { return fails(tx, 2, "a", "b", "a", "c") }),
			inTransaction(writers, func(tx *sql.Tx) error {
				_ = fails(tx, 1, "d", "d", "e")
				if written, err := repeat(tx, "f", "g"); written != 2 || err != nil {
					t.Errorf("%d rows are written, %v", written, err)
				}
				_, err := repeat(tx)
				return err
			}),
			insert(writers, "last"),
		)
		if errs[0] != nil || errs[1] == nil || errs[2] != nil || errs[3] != nil {
			t.Errorf("the writers return %v", errs)
		}
		if got := column(t, readers, names); got != "d f first g last" {
			t.Errorf("got %q", got)
		}
		if _, err := writers.Exec("INSERT INTO things (name) VALUES (?)", repeated{{"x"}}); err == nil {
			t.Error("a statement was repeated outside a transaction")
		}
	})
}

// A writer returns, however long the next transaction takes.
func TestNobodyWaitsForALaterTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, writers := pools(t)
		answered := make(chan struct{})
		errs := together(t, writers,
			func() error {
				defer close(answered)
				return insert(writers, "quick")()
			},
			func() error {
				tx, err := writers.Begin()
				if err != nil {
					return err
				}
				mustExec(t, tx, "INSERT INTO things (name) VALUES ('slow')")
				<-answered // for ever, were it to join the quick one's batch
				return tx.Commit()
			},
			func() error {
				<-answered
				return single(writers, "single")()
			},
		)
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	})
}

// While another process has the lock, every writer gives up after 10 seconds, however many there are.
func TestOneDeadlineForAllWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		other, err := sql.Open(driverName, filepath.Join(filepath.Dir(column(t, readers, "SELECT file FROM pragma_database_list")), dataFile))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		foreign, err := other.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer foreign.Close()
		if _, err := foreign.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		errs := together(t, writers,
			insert(writers, "a"),
			single(writers, "b"),
			inTransaction(writers, func(tx *sql.Tx) error {
				_, err := tx.Exec("INSERT INTO things (name) VALUES ('c')")
				return err
			}),
			insert(writers, "d"),
		)
		for i, err := range errs {
			if !errors.Is(err, ErrBusy) || strings.Contains(err.Error(), "locked") {
				t.Errorf("writer %d: %v", i, err)
			}
		}
		if waited := time.Since(began); waited < writeTimeout || waited > writeTimeout+time.Second {
			t.Errorf("they waited for %s", waited)
		}
		if _, err := foreign.ExecContext(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
		if err := insert(writers, "after")(); err != nil {
			t.Error(err)
		}
		if got := column(t, readers, names); got != "after" {
			t.Errorf("got %q", got)
		}
	})
}

func TestChunks(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	left := 1_000
	var limits []int
	var chunks Chunks
	more, err := true, error(nil)
	for more && err == nil {
		more, err = chunks.NextFor("", app, func(tx core.App, limit int) (int, error) {
			if !tx.IsTransactional() {
				t.Error("a chunk has no transaction")
			}
			limits = append(limits, limit)
			found := min(limit, left)
			left -= found
			return found, nil
		})
	}
	if err != nil || left != 0 || len(limits) < 3 || limits[0] != firstChunk || limits[1] != 2*firstChunk {
		t.Errorf("%d rows are left after chunks of %v (%v)", left, limits, err)
	}
	for _, test := range []struct {
		limit, found int
		work, commit time.Duration
		want         int
	}{
		{100, 100, chunkTime, 0, 100}, {100, 100, chunkTime / 2, chunkTime / 2, 100}, {100, 100, chunkTime, chunkTime, 50},
		{100, 100, 0, 0, 200}, {100, 20, chunkTime, 0, 20}, {minChunk, minChunk, time.Hour, 0, minChunk},
		{maxChunk, maxChunk, time.Microsecond, 0, maxChunk},
		{100, 100, chunkTime / minWorkShare, time.Second, 100}, // a slow disk does not make a chunk small
	} {
		if got := nextChunk(chunkTime, test.limit, test.found, test.work, test.commit); got != test.want {
			t.Errorf("after %d of %d rows in %s and %s, the limit is %d, want %d", test.found, test.limit, test.work, test.commit, got, test.want)
		}
	}
}

// A chunk ends with the row in which 15 ms of its own time have passed, however quick the rows before were, and nothing
// is left out.
func TestChunksEndByTime(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	for name, test := range map[string]struct {
		cost    func(row int) time.Duration
		longest time.Duration
	}{
		"equal rows":   {func(int) time.Duration { return 100 * time.Microsecond }, chunkTime + maxPortion*100*time.Microsecond},
		"rows of 4 ms": {func(int) time.Duration { return 4 * time.Millisecond }, chunkTime + 4*time.Millisecond},
		"large rows behind small ones": {func(row int) time.Duration {
			return map[bool]time.Duration{false: 10 * time.Microsecond, true: time.Millisecond}[row >= 5_000]
		}, chunkTime + 4*time.Millisecond},
		"only slow rows": {func(int) time.Duration { return 400 * time.Millisecond }, 400 * time.Millisecond},
		"some slow rows": {func(row int) time.Duration { // all of a portion may be slow
			return map[bool]time.Duration{false: 10 * time.Microsecond, true: 20 * time.Millisecond}[row >= 5_000]
		}, chunkTime + maxPortion*20*time.Millisecond},
	} {
		clock, began := time.Unix(0, 0), time.Time{}
		longest, row, last := time.Duration(0), 0, core.App(nil)
		chunks := &Chunks{clock: func() time.Time { return clock }}
		err := chunks.Run(t.Context(), app, func(tx core.App, limit int) (found int, err error) {
			if tx != last {
				last, began = tx, clock
			}
			for ; found < limit && row < 6_000; row++ {
				clock = clock.Add(test.cost(row))
				found++
			}
			longest = max(longest, clock.Sub(began))
			return found, nil
		})
		if err != nil || row != 6_000 || longest > test.longest {
			t.Errorf("%s: after %d rows and %v, the longest chunk took %s, more than %s", name, row, err, longest, test.longest)
		}
	}
}

func TestChunksHaveAnOwner(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	var chunks Chunks
	if _, err := chunks.NextFor("a", app, func(tx core.App, _ int) (int, error) { return 1, tx.Save(thing(t, tx, "one")) }); err != nil {
		t.Fatal(err)
	}
	if got := writerOf(app).lastOwner; got != "a" {
		t.Errorf("the chunk was written on behalf of %q, want a", got)
	}
}

// Throttled chunks pause after each chunk for as long as it took, and have a third of the rows.
func TestThrottled(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	chunks, worked := Throttled(), time.Duration(0)
	began := time.Now()
	more, err := chunks.NextFor("a", app, func(_ core.App, limit int) (int, error) {
		begun := time.Now()
		time.Sleep(throttledChunkTime) // the work
		worked = time.Since(begun)
		return limit, nil
	})
	if took := time.Since(began); err != nil || !more || took < 2*worked {
		t.Errorf("with its pause, a chunk of %s took %s (%v)", worked, took, err)
	}
	if chunks.limit > firstChunk {
		t.Errorf("after a full chunk, the limit is %d", chunks.limit)
	}
}
