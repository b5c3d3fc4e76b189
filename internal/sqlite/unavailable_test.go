package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"contactbase/internal/sqlite"
)

// IsUnavailable distinguishes the driver's errors of the storage from those of a statement.
func TestIsUnavailable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(name, options string) *sql.DB {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(dir, name)+options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	exec := func(db *sql.DB, query string) error {
		_, err := db.ExecContext(context.Background(), query)
		return err
	}
	must := func(db *sql.DB, query string) {
		t.Helper()
		if err := exec(db, query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	const table, row = "CREATE TABLE t (a UNIQUE)", "INSERT INTO t VALUES (1)"

	full := open("full.db", "?_pragma=max_page_count(3)")
	must(full, table)
	readOnly := open("full.db", "?_pragma=query_only(true)")
	closed := open("closed.db", "")
	must(closed, table)
	_ = closed.Close()
	if err := os.WriteFile(filepath.Join(dir, "other.db"), []byte("no database, and longer than the header of one would be: it has a hundred bytes, of which these are some"), 0o600); err != nil {
		t.Fatal(err)
	}
	locked := open("locked.db", "")
	must(locked, table)
	locked.SetMaxOpenConns(1)
	must(locked, "BEGIN IMMEDIATE")
	sound := open("sound.db", "")
	must(sound, table)
	must(sound, row)

	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a full disk":            {exec(full, "INSERT INTO t VALUES (zeroblob(100000))"), true},
		"a read-only database":   {exec(readOnly, row), true},
		"a closed pool":          {exec(closed, row), true},
		"a folder":               {exec(open("", ""), table), true},
		"a file of another kind": {exec(open("other.db", ""), table), true},
		"another writer":         {exec(open("locked.db", ""), row), true},
		"a failed batch":         {fmt.Errorf("committing: %w", sqlite.ErrBatch), true},
		"a commit that may last": {fmt.Errorf("%w: %w: %w", sqlite.ErrBatch, sqlite.ErrUncertain, sqlite.ErrBusy), false},
		"a taken value":          {exec(sound, row), false},
		"a mistake":              {exec(sound, "INSERT INTO nothing VALUES (1)"), false},
		"a value too large":      {exec(sound, "INSERT INTO t VALUES (zeroblob(2000000000))"), false},
		"no row":                 {sql.ErrNoRows, false},
		"another error":          {errors.New("the database is closed, says somebody"), false},
	} {
		if tc.err == nil {
			t.Errorf("%s gives no error", name)
		}
		if got := sqlite.IsUnavailable(fmt.Errorf("doing: %w", tc.err)); got != tc.want {
			t.Errorf("%s is unavailable: %v (%v)", name, got, tc.err)
		}
	}
	if sqlite.IsUnavailable(nil) {
		t.Error("success is unavailable")
	}
}

// IsRefused recognizes the message of a trigger, and nothing else that contains it.
func TestIsRefused(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "data.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string) error {
		_, err := db.ExecContext(t.Context(), query)
		return err
	}
	err = exec("CREATE TABLE t (a CONSTRAINT moving CHECK (a > 0)); CREATE TRIGGER r BEFORE INSERT ON t WHEN new.a > 9 BEGIN SELECT RAISE(ABORT, 'moving'); END")
	if err != nil {
		t.Fatal(err)
	}
	trigger, check := exec("INSERT INTO t VALUES (10)"), exec("INSERT INTO t VALUES (0)")
	if !sqlite.IsRefused(fmt.Errorf("writing: %w", trigger), "moving") || sqlite.IsRefused(trigger, "full") {
		t.Errorf("a trigger's error is not recognized: %v", trigger)
	}
	for _, other := range []error{nil, errors.New("moving"), check} {
		if sqlite.IsRefused(other, "moving") {
			t.Errorf("%v counts as a trigger's", other)
		}
	}
}
