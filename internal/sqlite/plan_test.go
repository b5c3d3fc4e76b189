package sqlite

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Plans that wait behind others are run by who has the turn.
func TestPlansThatWaitAreRunTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		before := stats(writers)
		turnsBefore, _ := poolWriter(writers).turnTimes.total()
		const count = 5
		stacks := make([]string, count)
		var members []func() error
		for i := range count {
			members = append(members, func() error {
				changed, err := writePlan(writers, func(Reader) ([]Statement, error) {
					stacks[i] = string(debug.Stack())
					return []Statement{
						{"INSERT INTO things (name) VALUES (?)", []any{fmt.Sprint(i)}},
						{"UPDATE things SET name = name WHERE name <= ?", []any{fmt.Sprint(i)}},
					}, nil
				})
				if err == nil && fmt.Sprint(changed) != fmt.Sprintf("[1 %d]", i+1) {
					t.Errorf("the plan %d changed %v rows", i, changed)
				}
				return err
			})
		}
		if err := errors.Join(together(t, writers, members...)...); err != nil {
			t.Error(err)
		}
		for i, stack := range stacks {
			if combined := strings.Contains(stack, "(*writer).combine"); combined != (i > 0) {
				t.Errorf("whether the plan %d was run by another's goroutine: %t", i, combined)
			}
		}
		after := stats(writers)
		if after.Commits-before.Commits != 1 || after.Writes-before.Writes != count {
			t.Errorf("%d commits of %d writes", after.Commits-before.Commits, after.Writes-before.Writes)
		}
		if turns, _ := poolWriter(writers).turnTimes.total(); turns-turnsBefore != count+1 { // and the one that they wait for
			t.Errorf("%d turns were measured", turns-turnsBefore)
		}
		if got := column(t, readers, names); got != "0 1 2 3 4" {
			t.Errorf("there is %q", got)
		}
	})
}

// A plan that panics does so where it was made, and what it reads is closed for it.
func TestPlanThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		mustExec(t, writers, "INSERT INTO things (name) VALUES ('before')")
		careless := func() (err error) {
			defer func() { err = fmt.Errorf("panic: %v", recover()) }()
			_, err = writePlan(writers, func(tx Reader) ([]Statement, error) {
				if rows, err := tx.Query("SELECT name FROM things"); err != nil || !rows.Next() { //nolint:rowserrcheck,sqlclosecheck // that is what is tested
					t.Errorf("reading: %v", err)
				}
				panic("a mistake")
			})
			return err
		}
		errs := together(t, writers, insert(writers, "a"), careless, insert(writers, "b"))
		if errs[0] != nil || errs[2] != nil || !strings.HasPrefix(errs[1].Error(), "panic: a mistake") || !strings.Contains(errs[1].Error(), "plan_test.go") {
			t.Errorf("they end with %v", errs)
		}
		if err := careless(); !strings.HasPrefix(err.Error(), "panic: a mistake") {
			t.Errorf("alone it ends with %v", err)
		}
		if err := insert(writers, "c")(); err != nil {
			t.Error(err)
		}
		if got := column(t, readers, names); got != "a b before c" {
			t.Errorf("there is %q", got)
		}
	})
}

// Who waits gives up after 10 seconds, but not while the plan runs.
func TestPatienceOfPlans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		errs := together(t, writers,
			insert(writers, "a"),
			func() error {
				_, err := writePlan(writers, func(Reader) ([]Statement, error) {
					time.Sleep(patience + time.Second) // of the clock of the test
					return []Statement{{"INSERT INTO things (name) VALUES ('slow')", nil}}, nil
				})
				return err
			},
			insert(writers, "late"),
		)
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], ErrBusy) {
			t.Errorf("they end with %v", errs)
		}
		if got := column(t, readers, names); got != "a slow" {
			t.Errorf("there is %q", got)
		}
	})
}
