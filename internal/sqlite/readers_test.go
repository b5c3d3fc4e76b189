package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// PocketBase runs statements that it considers reads on reading connections, even WITH … UPDATE. Writes fail there, so that they cannot bypass the
// pre-commit hook, and reads succeed.
func TestReadersDoNotWrite(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	if err := Transact(app, "", true, func(tx core.App) error { return tx.Save(thing(t, tx, "before")) }); err != nil {
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
	if _, err := app.ConcurrentDB().NewQuery("WITH one AS (SELECT 1) DELETE FROM things").Execute(); !errors.Is(err, ErrReadOnly) || IsUnavailable(err) {
		t.Errorf("the error is %v", err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if _, err := app.ConcurrentDB().NewQuery("VACUUM INTO '" + copied + "'").Execute(); err != nil {
		t.Errorf("a copy: %v", err)
	}
}
