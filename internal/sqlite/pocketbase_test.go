package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

func TestManyWriters(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	before := countersOf(writerOf(app))
	const writers, rows = 64, 10
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			for row := range rows {
				record := thing(t, app, fmt.Sprintf("%d-%d", writer, row))
				if err := Transact(t.Context(), app, "", true, func(tx core.App) error { return tx.Save(record) }); err != nil {
					t.Errorf("saving: %v", err)
				}
			}
		})
	}
	all.Wait()
	count, err := app.CountRecords("things")
	if err != nil || count != writers*rows {
		t.Errorf("%d records, want %d (%v)", count, writers*rows, err)
	}
	after := countersOf(writerOf(app))
	commits, writes := after.Commits-before.Commits, after.Writes-before.Writes
	if writes != writers*rows {
		t.Errorf("counted %d writes, want %d", writes, writers*rows)
	}
	if commits > writes/2 {
		t.Errorf("%d writes needed %d commits", writes, commits)
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	var mu sync.Mutex
	succeeded, failed := map[string]bool{}, map[string]bool{}
	app.OnRecordAfterCreateSuccess("things").BindFunc(func(e *core.RecordEvent) error {
		// readers see only commits
		_, err := app.FindFirstRecordByFilter("things", "name = {:name}", dbx.Params{"name": e.Record.GetString("name")})
		if err != nil {
			t.Errorf("the hook ran before the commit: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		succeeded[e.Record.GetString("name")] = true
		return e.Next()
	})
	app.OnRecordAfterCreateError("things").BindFunc(func(e *core.RecordErrorEvent) error {
		mu.Lock()
		defer mu.Unlock()
		failed[e.Record.GetString("name")] = true
		return e.Next()
	})
	refused := errors.New("refused")
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			name := fmt.Sprint(i)
			var err error
			switch i % 3 {
			case 0:
				err = app.Save(thing(t, app, name))
			case 1: // nested, as hooks do it
				err = app.RunInTransaction(func(tx core.App) error {
					return tx.RunInTransaction(func(tx core.App) error { return tx.Save(thing(t, tx, name)) })
				})
			case 2:
				err = app.RunInTransaction(func(tx core.App) error {
					if err := tx.Save(thing(t, tx, name)); err != nil {
						return err
					}
					return refused
				})
				if !errors.Is(err, refused) {
					t.Errorf("the transaction gave %v", err)
				}
				return
			}
			if err != nil {
				t.Errorf("saving: %v", err)
			}
		})
	}
	all.Wait()
	for i := range 30 {
		name := fmt.Sprint(i)
		if rolledBack := i%3 == 2; succeeded[name] == rolledBack || failed[name] != rolledBack {
			t.Errorf("%s: success %v, error %v", name, succeeded[name], failed[name])
		}
	}
}

func TestUniqueViolation(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	if err := app.Save(thing(t, app, "taken")); err != nil {
		t.Fatalf("saving: %v", err)
	}
	err := app.SaveNoValidate(thing(t, app, "taken"))
	if err == nil || !strings.Contains(err.Error(), "name") {
		t.Errorf("the second one gave %v", err)
	}
	if count, err := app.CountRecords("things"); count != 1 || err != nil {
		t.Errorf("%d records are there, %v", count, err)
	}
}

func TestPocketBaseOwnWork(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	if err := app.RunAllMigrations(); err != nil {
		t.Fatalf("migrating: %v", err)
	}
	imported := []map[string]any{
		{"name": "one", "type": "base", "fields": []map[string]any{{"name": "title", "type": "text"}}},
		{"name": "two", "type": "base", "fields": []map[string]any{{"name": "title", "type": "number"}}},
		{"name": "seen", "type": "view", "viewQuery": "SELECT id, name FROM things"},
	}
	if err := app.ImportCollections(imported, false); err != nil {
		t.Fatalf("importing collections: %v", err)
	}
	imported[0]["name"] = "changed"
	if err := app.ImportCollections(imported, false); err != nil {
		t.Fatalf("importing collections again: %v", err)
	}
	if err := app.ImportCollections([]map[string]any{{"name": "bad name", "type": "base"}}, false); err == nil {
		t.Error("a bad collection was imported")
	}
	things, err := app.FindCollectionByNameOrId("things")
	if err != nil {
		t.Fatalf("finding a collection: %v", err)
	}
	things.Fields.Add(&core.NumberField{Name: "size"})
	things.Fields.RemoveByName("name")
	things.RemoveIndex("things_name")
	var writing sync.WaitGroup
	one, err := app.FindCollectionByNameOrId("two")
	if err != nil {
		t.Fatalf("finding a collection: %v", err)
	}
	for range 8 {
		writing.Go(func() {
			if err := app.Save(core.NewRecord(one)); err != nil {
				t.Errorf("saving while collections change: %v", err)
			}
		})
	}
	seen, err := app.FindCollectionByNameOrId("seen")
	if err != nil {
		t.Fatalf("finding a view: %v", err)
	}
	if err := app.Delete(seen); err != nil {
		t.Errorf("deleting a view: %v", err)
	}
	if err := app.Save(things); err != nil {
		t.Errorf("changing a collection: %v", err)
	}
	writing.Wait()
	if err := app.Vacuum(); err != nil {
		t.Errorf("vacuuming: %v", err)
	}
	if err := app.TruncateCollection(one); err != nil {
		t.Errorf("truncating a collection: %v", err)
	}
	if err := app.Delete(one); err != nil {
		t.Errorf("deleting a collection: %v", err)
	}
}

// PocketBase updates statistics after each change of a collection. With statistics of a small table, SQLite would
// scan it even when it is large. The plan of a query must not depend on when an admin adds a field.
func TestNoPlannerStatistics(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	for i := range 3 {
		if err := app.Save(thing(t, app, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := app.FindFirstRecordByFilter("things", "name = '1'"); err != nil {
		t.Fatal(err)
	}
	things, err := app.FindCollectionByNameOrId("things")
	if err != nil {
		t.Fatal(err)
	}
	things.Fields.Add(&core.NumberField{Name: "size"})
	if err := app.Save(things); err != nil {
		t.Fatal(err)
	}
	maintain(app)
	var tables int
	if err := app.DB().NewQuery("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'").Row(&tables); err != nil || tables != 0 {
		t.Errorf("there are %d tables of statistics, %v", tables, err)
	}
}
