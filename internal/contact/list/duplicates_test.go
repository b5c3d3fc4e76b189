package list_test

import (
	"database/sql"
	"strings"
	"testing"

	"contactbase/internal/contact/list"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// The contacts of a group are found by their row numbers, however many others share its key.
func TestContactsOfDuplicatesAreFoundDirectly(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	for _, by := range []string{"email", "phone", "name"} {
		err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), "EXPLAIN QUERY PLAN "+list.DuplicatesSQL(by), func(rows *sql.Rows) error {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				return err
			}
			isDirect := strings.Contains(step, "USING INTEGER PRIMARY KEY (rowid=?)") || strings.HasSuffix(step, "(id=?)")
			if !isDirect && !strings.HasPrefix(step, "SCAN j VIRTUAL TABLE") && !strings.HasSuffix(step, "FOR ORDER BY") {
				t.Errorf("by %s: %s", by, step)
			}
			return nil
		}, "tenant", "[]")
		if err != nil {
			t.Fatal(err)
		}
	}
}
