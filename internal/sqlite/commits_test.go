package sqlite

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// counted caches the number of things, and counts the queries.
type counted struct {
	Cached[int]
	t     *testing.T
	app   core.App
	asked int
}

func (c *counted) get() int {
	c.t.Helper()
	value, err := c.Get(c.app, func() (int, error) {
		c.asked++
		return Value[int](Direct(c.app.ConcurrentDB()), "SELECT count(*) FROM things")
	})
	if err != nil {
		c.t.Fatalf("reading: %v", err)
	}
	return value
}

// expect checks the cached number, and how often it was queried.
func (c *counted) expect(want, asked int) {
	c.t.Helper()
	if runtime.GOOS == "windows" {
		asked = c.asked + 1 // each time
	}
	if got := c.get(); got != want || c.asked != asked {
		c.t.Errorf("got %d after %d queries, want %d after %d", got, c.asked, want, asked)
	}
}

func TestCachedUntilACommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := newApp(t, dir, Connect(Full))
	things := &counted{t: t, app: app}
	things.expect(0, 1)
	things.expect(0, 1)
	if err := app.Save(thing(t, app, "one")); err != nil {
		t.Fatal(err)
	}
	things.expect(1, 2)
	things.expect(1, 2)

	rolledBack := errors.New("no")
	if err := app.RunInTransaction(func(tx core.App) error {
		if err := tx.Save(thing(t, tx, "never")); err != nil {
			return err
		}
		inside := &counted{t: t, app: tx}
		inside.get()
		if inside.get(); inside.asked != 2 {
			t.Errorf("%d queries inside a transaction", inside.asked)
		}
		things.expect(1, 2)
		return rolledBack
	}); !errors.Is(err, rolledBack) {
		t.Fatal(err)
	}
	things.expect(1, 2)

	mustExec(t, app.ConcurrentDB().(*dbx.DB).DB(), "PRAGMA wal_checkpoint(TRUNCATE)")
	things.expect(1, 3)
	things.expect(1, 4) // an empty WAL identifies no state
	if err := app.Save(thing(t, app, "two")); err != nil {
		t.Fatal(err)
	}
	things.expect(2, 5)
	things.expect(2, 5)
}

// A commit of another process invalidates the cached value.
func TestCachedWithAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := newApp(t, dir, Connect(Full))
	if err := app.Save(thing(t, app, "one")); err != nil {
		t.Fatal(err)
	}
	things := &counted{t: t, app: app}
	things.expect(1, 1)
	things.expect(1, 1)
	child, out := startChild(t, dir, "child")
	written, err := io.ReadAll(out)
	if err := errors.Join(err, child.Wait()); err != nil || strings.Contains(string(written), "error") {
		t.Fatalf("the other process: %v, %s", err, written)
	}
	things.expect(1+childWriters*childRows, 2)
	things.expect(1+childWriters*childRows, 2)
}

// A new pool starts with an empty WAL, whose header may equal that of the closed pool.
func TestCachedAfterReopening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := newApp(t, dir, Connect(Full))
	closePool := func() {
		t.Helper()
		if err := app.ResetBootstrapState(); err != nil {
			t.Fatal(err)
		}
		for _, ending := range []string{"-wal", "-shm"} {
			if _, err := os.Stat(filepath.Join(dir, dataFile+ending)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s%s is left: %v", dataFile, ending, err)
			}
		}
	}
	openPool := func() {
		t.Helper()
		if err := app.Bootstrap(); err != nil {
			t.Fatal(err)
		}
	}
	things := &counted{t: t, app: app}
	closePool()
	openPool()
	things.expect(0, 1)
	things.expect(0, 2)
	if err := app.Save(thing(t, app, "one")); err != nil {
		t.Fatal(err)
	}
	closePool()
	openPool()
	things.expect(1, 3)
}
