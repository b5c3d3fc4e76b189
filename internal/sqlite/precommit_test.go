package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// A batch that the pre-commit hook refuses is not committed, and all its writers get the error.
func TestPreCommitHook(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	refusal := errors.New("another machine serves")
	var refuse bool // it is asked by who writes
	PreCommit(app, func() error {
		if refuse {
			return refusal
		}
		return nil
	})
	save := func(name string) error {
		return Transact(t.Context(), app, "", true, func(tx core.App) error { return tx.Save(thing(t, tx, name)) })
	}
	if err := save("before"); err != nil {
		t.Fatal(err)
	}
	refuse = true
	if err := save("refused"); !errors.Is(err, refusal) || !IsUnavailable(err) {
		t.Errorf("a refused transaction: %v", err)
	}
	_, err := Write(app, func(Reader) ([]Statement, error) {
		return []Statement{{Text: "UPDATE things SET name = 'refused'"}}, nil
	})
	if !errors.Is(err, refusal) {
		t.Errorf("a refused write function: %v", err)
	}
	refuse = false
	if err := save("after"); err != nil {
		t.Errorf("once the hook allows it: %v", err)
	}
	var names []string
	if err := app.DB().Select("name").From("things").OrderBy("name").Column(&names); err != nil {
		t.Fatal(err)
	}
	if len(names) != 2 || names[0] != "after" || names[1] != "before" {
		t.Errorf("got %q", names)
	}
}

// Exclusive finds the database unlocked, however many others write.
func TestExclusive(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	other, err := sql.Open("sqlite", filepath.Join(app.DataDir(), "data.db")+"?_pragma=busy_timeout(0)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for writer := range 16 {
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := Transact(t.Context(), app, "", true, func(tx core.App) error { return tx.Save(thing(t, tx, fmt.Sprint(writer, "-", n))) }); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		err := Exclusive(t.Context(), app, func() error {
			if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
				return err
			}
			_, err := other.ExecContext(t.Context(), "ROLLBACK")
			return err
		})
		if err != nil {
			t.Errorf("exclusive: %v", err)
		}
	}
	cancel()
	writers.Wait()
}
