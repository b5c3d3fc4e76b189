package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// The holder of the lock runs the write functions of waiters.
func TestWaitingWriteFunctionsRunTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		before := stats(writers)
		holdsBefore, _ := observed(t, poolWriter(writers).times.hold)
		const count = 5
		stacks := make([]string, count)
		var each []func() error
		for i := range count {
			each = append(each, func() error {
				changed, err := writeAs(context.Background(), writers, byFunction, "", func(Reader) ([]Statement, error) {
					stacks[i] = string(debug.Stack())
					return []Statement{
						{"INSERT INTO things (name) VALUES (?)", []any{fmt.Sprint(i)}},
						{"UPDATE things SET name = name WHERE name <= ?", []any{fmt.Sprint(i)}},
					}, nil
				})
				if err == nil && fmt.Sprint(changed) != fmt.Sprintf("[1 %d]", i+1) {
					t.Errorf("the write function %d changed %v rows", i, changed)
				}
				return err
			})
		}
		if err := errors.Join(together(t, writers, each...)...); err != nil {
			t.Error(err)
		}
		for i, stack := range stacks {
			if combined := strings.Contains(stack, "(*writer).runWaiting"); combined != (i > 0) {
				t.Errorf("write function %d ran in the goroutine of another writer: %t", i, combined)
			}
		}
		after := stats(writers)
		if after.Commits-before.Commits != 1 || after.Writes-before.Writes != count {
			t.Errorf("%d commits of %d writes", after.Commits-before.Commits, after.Writes-before.Writes)
		}
		// and the transaction for which they wait
		if holds, _ := observed(t, poolWriter(writers).times.hold); holds-holdsBefore != count+1 {
			t.Errorf("measured %d holds of the lock, want %d", holds-holdsBefore, count+1)
		}
		if got := column(t, readers, names); got != "0 1 2 3 4" {
			t.Errorf("got %q", got)
		}
	})
}

// A panic of a write function reaches the goroutine of its caller, and its open rows are closed.
func TestPanickingWriteFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		mustExec(t, writers, "INSERT INTO things (name) VALUES ('before')")
		careless := func() (err error) {
			defer func() { err = fmt.Errorf("panic: %v", recover()) }()
			_, err = writeAs(context.Background(), writers, byFunction, "", func(tx Reader) ([]Statement, error) {
				if rows, err := tx.Query("SELECT name FROM things"); err != nil || !rows.Next() { //nolint:rowserrcheck,sqlclosecheck // that is what is tested
					t.Errorf("reading: %v", err)
				}
				panic("a mistake")
			})
			return err
		}
		errs := together(t, writers, insert(writers, "a"), careless, insert(writers, "b"))
		if errs[0] != nil || errs[2] != nil || !strings.HasPrefix(errs[1].Error(), "panic: a mistake") || !strings.Contains(errs[1].Error(), "write_test.go") {
			t.Errorf("the writers return %v", errs)
		}
		if err := careless(); !strings.HasPrefix(err.Error(), "panic: a mistake") {
			t.Errorf("alone, it ends with %v", err)
		}
		if err := insert(writers, "c")(); err != nil {
			t.Error(err)
		}
		if got := column(t, readers, names); got != "a b before c" {
			t.Errorf("got %q", got)
		}
	})
}

// A waiter gives up after 10 seconds, but not while its write function runs.
func TestWriteFunctionTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		errs := together(t, writers,
			insert(writers, "a"),
			func() error {
				_, err := writeAs(context.Background(), writers, byFunction, "", func(Reader) ([]Statement, error) {
					time.Sleep(writeTimeout + time.Second) // of the clock of the test
					return []Statement{{"INSERT INTO things (name) VALUES ('slow')", nil}}, nil
				})
				return err
			},
			insert(writers, "late"),
		)
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], ErrBusy) {
			t.Errorf("the writers return %v", errs)
		}
		if got := column(t, readers, names); got != "a slow" {
			t.Errorf("got %q", got)
		}
	})
}

// A write function that runs its statements itself may go on after one that SQLite refuses. Others in the batch are not
// affected, and if it then fails, nothing of it is left.
func TestWriteFunctionGoesOnAfterARefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		mustExec(t, writers, "INSERT INTO things (name) VALUES ('taken')")
		calls := 0
		refused := func(then ...Statement) func() error {
			return func() error {
				_, err := writeAs(context.Background(), writers, byFunction, "", through(nil, func(tx Tx) error {
					calls++
					_, err := tx.Run([]Statement{{"INSERT INTO things (rowid, name) VALUES (1, 'refused')", nil}})
					if failed := (*StatementError)(nil); !errors.As(err, &failed) {
						t.Errorf("a taken rowid gives %v", err)
					}
					if len(then) > 0 {
						_, err = tx.Run(then)
					}
					return err
				}))
				return err
			}
		}
		another := Statement{"INSERT INTO things (name) VALUES ('another')", nil}
		before := stats(writers)
		errs := together(t, writers, insert(writers, "a"), refused(another), refused(), insert(writers, "b"))
		if errs[0] != nil || errs[1] != nil || errs[2] == nil || errs[3] != nil || calls != 2 {
			t.Errorf("after %d calls, the writers return %v", calls, errs)
		}
		if after := stats(writers); after.Commits-before.Commits != 1 {
			t.Errorf("%d commits", after.Commits-before.Commits)
		}
		if got := column(t, readers, names); got != "a another b taken" {
			t.Errorf("got %q", got)
		}
	})
}

// Derived writes commit without waiting for the disk, in a batch of their own. All other commits wait; with Strict,
// these do, too.
func TestDerivedWrites(t *testing.T) {
	t.Parallel()
	for durability, want := range map[Durability]string{Full: "2 1 1 2 1 2", Strict: "2 2 2 2 2 2", Normal: "1 1 1 1 1 1"} {
		app := newApp(t, t.TempDir(), Connect(durability))
		var found []string
		insert := func(tx Reader) ([]Statement, error) {
			synchronous, err := Value[string](tx, "SELECT synchronous FROM pragma_synchronous")
			found = append(found, synchronous)
			return []Statement{{"UPDATE things SET name = name", nil}}, err
		}
		for i, write := range []func(core.App, WriteFunc) ([]int64, error){Write, WriteDerived, WriteDerived, Write, WriteDerived} {
			if _, err := write(app, insert); err != nil {
				t.Fatalf("%s: the write %d: %v", durability, i, err)
			}
		}
		// what runs outside of transactions
		synchronous, err := Value[string](Direct(app.NonconcurrentDB()), "PRAGMA synchronous")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(append(found, synchronous), " "); got != want {
			t.Errorf("%s: the writes see %s, want %s", durability, got, want)
		}
	}
}

// A derived write shares the commit of a write that is before it, and no write shares that of a derived one.
func TestDerivedWritesShareCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, writers := pools(t)
		touch := func(Reader) ([]Statement, error) {
			return []Statement{{"INSERT INTO things (name) VALUES (NULL)", nil}}, nil
		}
		as := func(mode mode) func() error {
			return func() error {
				_, err := writeAs(context.Background(), writers, mode, "", touch)
				return err
			}
		}
		before := stats(writers)
		if err := errors.Join(together(t, writers, as(byFunction), as(byDerivation))...); err != nil {
			t.Error(err)
		}
		if after := stats(writers); after.Commits-before.Commits != 1 {
			t.Errorf("a derived write after another one: %d commits", after.Commits-before.Commits)
		}
		before = stats(writers)
		if err := errors.Join(together(t, writers, as(byDerivation), as(byFunction))...); err != nil {
			t.Error(err)
		}
		if after := stats(writers); after.Commits-before.Commits != 2 {
			t.Errorf("a derived write before another one: %d commits", after.Commits-before.Commits)
		}
	})
}
