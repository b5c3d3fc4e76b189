package migrations_test

import (
	"testing"
)

// The tables of imports come, and go without a trace on the way back.
func TestImportsComeAndGo(t *testing.T) {
	t.Parallel()
	app, migrate := newFolder(t, "1761000012")
	tables := func() (count int) {
		t.Helper()
		if err := app.DB().NewQuery("SELECT count(*) FROM sqlite_schema WHERE tbl_name LIKE '\\_import%' ESCAPE '\\' AND type = 'table'").Row(&count); err != nil {
			t.Fatal(err)
		}
		return count
	}
	migrate()
	execute(t, app, "INSERT INTO _importRows VALUES ('i', 0, 't', '[]')")
	if n := tables(); n != 3 {
		t.Errorf("there are %d tables", n)
	}
	if err := undo(app, "1761000012"); err != nil {
		t.Fatal(err)
	}
	if n := tables(); n != 0 {
		t.Errorf("%d tables are left", n)
	}
	migrate()
}
