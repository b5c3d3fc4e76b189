package migrations_test

import (
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/search"
)

// The index of trigrams is built anew for a folder of an older version, whatever was in it, and empty again after the way back.
func TestSearchIsIndexedAnew(t *testing.T) {
	t.Parallel()
	app, migrate := newFolder(t, "1761000008")
	execute(t, app, `INSERT INTO _contactSearch (seq, contact, tenant, email, text, indexed) VALUES
		(1, 'a', 't', '', 'one', 1), (2, 'b', 't', '', 'two', 2), (4, 'd', 't', '', 'new', 0)`)
	execute(t, app, `INSERT INTO _contactGrams (rowid, text) VALUES (1, 'one'), (2, 'was'), (3, 'bye')`)
	execute(t, app, `INSERT INTO _contactUnindexed VALUES (3)`)
	migrate()
	for n := 1; n > 0; {
		err := app.RunInTransaction(func(tx core.App) (err error) {
			n, err = search.IndexPending(tx, 2)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for word, want := range map[string]string{"one": "1", "two": "2", "was": "", "bye": "", "new": "4"} {
		if got := grams(t, app, word); got != want {
			t.Errorf("%q is in the rows %q, not %q", word, got, want)
		}
	}
	if err := undo(app, "1761000008"); err != nil {
		t.Fatal(err)
	}
	var pending int
	if err := app.DB().NewQuery("SELECT count(*) FROM _contactSearch WHERE indexed != 1").Row(&pending); err != nil || pending != 3 || grams(t, app, "one") != "" {
		t.Errorf("%d rows wait to be indexed, %v", pending, err)
	}
	migrate()
}

func grams(t *testing.T, app core.App, word string) (rows string) {
	t.Helper()
	err := app.DB().NewQuery("SELECT ifnull(group_concat(rowid), '') FROM _contactGrams WHERE _contactGrams MATCH {:word}").Bind(dbx.Params{"word": word}).Row(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
