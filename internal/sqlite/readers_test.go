package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite/physical"
)

// PocketBase runs statements that it considers reads on reading connections, even WITH … UPDATE. Writes fail there,
// so that they cannot bypass the pre-commit hook, and reads succeed.
func TestReadersDoNotWrite(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	if err := Transact(t.Context(), app, "", true, func(tx core.App) error { return tx.Save(thing(t, tx, "before")) }); err != nil {
		t.Fatal(err)
	}
	PreCommit(app, func() error { return errors.New("another machine serves") })
	for _, query := range []string{
		"WITH ids AS (SELECT id FROM things) UPDATE things SET name = 'after' WHERE id IN (SELECT id FROM ids)",
		"WITH ids AS (SELECT id FROM things) DELETE FROM things WHERE id IN (SELECT id FROM ids) RETURNING id",
		"/* a comment */ UPDATE things SET name = 'after'",
		"SELECT 1; UPDATE things SET name = 'after'",
		"BEGIN; UPDATE things SET name = 'after'; COMMIT",
		"PRAGMA query_only(0); UPDATE things SET name = 'after'",
		"CREATE TABLE others (id INTEGER)",
		"PRAGMA user_version = 7",
	} {
		rows, err := app.ConcurrentDB().NewQuery(query).Rows()
		if err == nil {
			for rows.Next() { // RETURNING tells each row before it is committed
			}
			err = errors.Join(rows.Err(), rows.Close())
		}
		if err == nil {
			t.Errorf("%s has no error", query)
		}
	}
	var names []string
	if err := app.ConcurrentDB().NewQuery("WITH all_of AS (SELECT name FROM things) SELECT name FROM all_of").Column(&names); err != nil || len(names) != 1 || names[0] != "before" {
		t.Errorf("got %q, %v", names, err)
	}
	var tables, version int
	if err := app.DB().NewQuery("SELECT count(*) FROM sqlite_schema WHERE name = 'others'").Row(&tables); err != nil || tables != 0 {
		t.Errorf("a table was created (%v)", err)
	}
	if err := app.DB().NewQuery("SELECT user_version FROM pragma_user_version").Row(&version); err != nil || version != 0 {
		t.Errorf("the version is %d, %v", version, err)
	}
	if _, err := app.ConcurrentDB().NewQuery("WITH one AS (SELECT 1) DELETE FROM things").Execute(); !errors.Is(err, physical.ErrReadOnly) || IsUnavailable(err) {
		t.Errorf("the error is %v", err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if _, err := app.ConcurrentDB().NewQuery("VACUUM INTO '" + copied + "'").Execute(); err != nil {
		t.Errorf("a copy: %v", err)
	}
}

func TestStatementsOnReaders(t *testing.T) {
	t.Parallel()
	readers, writers := pools(t)
	mustExec(t, writers, "INSERT INTO things (id, name) VALUES (1, 'a'), (2, 'b')")
	tx, err := readers.Begin()
	if err != nil {
		t.Fatalf("beginning: %v", err)
	}
	const query = "SELECT name FROM things ORDER BY id"
	outer, err := tx.Query(query)
	if err != nil {
		t.Fatalf("querying: %v", err)
	}
	defer outer.Close()
	var seen []string
	for outer.Next() {
		var name string
		if err := outer.Scan(&name); err != nil {
			t.Fatalf("scanning: %v", err)
		}
		seen = append(seen, name, column(t, tx, query)) // the same statement while the first is in use
	}
	if err := outer.Err(); err != nil {
		t.Fatalf("reading: %v", err)
	}
	if got := strings.Join(seen, "|"); got != "a|a b|b|a b" {
		t.Errorf("two concurrent uses of a statement returned %q", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatalf("ending: %v", err)
	}

	readers.SetMaxOpenConns(2)
	const all = "SELECT * FROM things WHERE id = 1"
	columns := func() string {
		found, err := readers.Query(all)
		if err != nil {
			t.Fatalf("querying: %v", err)
		}
		defer found.Close()
		columns, err := found.Columns()
		if err := errors.Join(err, found.Err()); err != nil {
			t.Fatalf("reading the columns: %v", err)
		}
		return strings.Join(columns, " ")
	}
	if got := columns(); got != "id name" {
		t.Errorf("the columns are %q", got)
	}
	mustExec(t, writers, "ALTER TABLE things ADD COLUMN more TEXT")
	if got := columns(); got != "id name more" {
		t.Errorf("after a change of the schema the columns are %q", got)
	}
}
