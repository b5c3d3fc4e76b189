package sqlite

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	_ "github.com/pocketbase/pocketbase/migrations" // the tables of PocketBase itself
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		runChild(role)
		return
	}
	os.Exit(m.Run())
}

// pools opens a database with a table "things" like PocketBase does: with a pool for reading and one for writing.
func pools(t *testing.T) (readers, writers *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), dataFile)
	connect := Connect(Full)
	for _, pool := range []**sql.DB{&readers, &writers} {
		db, err := connect(path)
		if err != nil {
			t.Fatalf("opening a pool: %v", err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Errorf("closing a pool: %v", err)
			}
		})
		*pool = db.DB()
	}
	writers.SetMaxOpenConns(1)
	mustExec(t, writers, "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
	writers.SetMaxOpenConns(0)
	writers.SetMaxIdleConns(idleWriters)
	return readers, writers
}

// newApp returns a bootstrapped app with shared commits and the collection "things".
func newApp(tb testing.TB, dir string, connect core.DBConnectFunc) core.App {
	tb.Helper()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir, DBConnect: connect})
	// PocketBase closes the databases before it stops watching for changes of other processes, which is a data race
	app.OnBootstrap().Unbind("__pbNotifyWatcherSystemHook__")
	Bind(app)
	if err := app.Bootstrap(); err != nil {
		tb.Fatalf("opening an app: %v", err)
	}
	tb.Cleanup(func() {
		if err := app.ResetBootstrapState(); err != nil {
			tb.Errorf("closing the app: %v", err)
		}
	})
	things := core.NewBaseCollection("things")
	things.Fields.Add(&core.TextField{Name: "name"})
	things.AddIndex("things_name", true, "name", "")
	if err := app.Save(things); err != nil {
		tb.Fatalf("creating a collection: %v", err)
	}
	return app
}

// thing returns a new record.
func thing(tb testing.TB, app core.App, name string) *core.Record {
	tb.Helper()
	collection, err := app.FindCachedCollectionByNameOrId("things")
	if err != nil {
		tb.Fatalf("finding the collection: %v", err)
	}
	record := core.NewRecord(collection)
	record.Set("name", name)
	return record
}

type execer interface {
	Exec(query string, args ...any) (sql.Result, error)
}

func mustExec(t *testing.T, db execer, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

// column returns the only column of a query, its values separated by spaces.
func column(t *testing.T, db querier, query string) string {
	t.Helper()
	found, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer found.Close()
	var values []string
	for found.Next() {
		var value any
		if err := found.Scan(&value); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		values = append(values, fmt.Sprint(value))
	}
	if err := found.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(values, " ")
}

func TestParseDurability(t *testing.T) {
	t.Parallel()
	for _, valid := range []Durability{Full, Normal} {
		if got, err := ParseDurability(string(valid)); got != valid || err != nil {
			t.Errorf("ParseDurability(%q) = %q, %v", valid, got, err)
		}
	}
	for _, invalid := range []string{"", "off", "FULL", "full "} {
		if _, err := ParseDurability(invalid); err == nil {
			t.Errorf("ParseDurability(%q) has no error", invalid)
		}
	}
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	for durability, synchronous := range map[Durability]string{Full: "2", Normal: "1"} {
		app := newApp(t, t.TempDir(), Connect(durability))
		for pool, db := range map[string]dbx.Builder{"readers": app.ConcurrentDB(), "writers": app.NonconcurrentDB()} {
			for pragma, want := range map[string]string{
				"synchronous": synchronous, "journal_mode": "wal", "foreign_keys": "1", "temp_store": "2",
			} {
				if got := column(t, db.(*dbx.DB).DB(), "PRAGMA "+pragma); got != want {
					t.Errorf("%s, %s: %s is %s, want %s", durability, pool, pragma, got, want)
				}
			}
		}
		if _, ours := app.AuxNonconcurrentDB().(*dbx.DB).DB().Driver().(pooled); ours {
			t.Errorf("%s: auxiliary.db is not opened like PocketBase does", durability)
		}
	}
}

func TestBind(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	limit := func() int { return app.NonconcurrentDB().(*dbx.DB).DB().Stats().MaxOpenConnections }
	Bind(app)
	if got := limit(); got != 0 {
		t.Errorf("the writing pool has the limit %d, want none", got)
	}
	if err := app.ResetBootstrapState(); err != nil {
		t.Fatalf("closing the app: %v", err)
	}
	if err := app.Bootstrap(); err != nil {
		t.Fatalf("opening the app again: %v", err)
	}
	if got := limit(); got != 0 {
		t.Errorf("after reopening, the writing pool has the limit %d, want none", got)
	}

	if err := app.Save(thing(t, app, "in the log")); err != nil {
		t.Fatalf("saving: %v", err)
	}
	ran := 0
	for _, job := range app.Cron().Jobs() {
		if job.Id() == "__pbDBOptimize__" {
			ran++
			job.Run()
		}
	}
	if ran != 1 {
		t.Errorf("%d maintenance jobs", ran)
	}
	// a truncating checkpoint leaves an empty file
	log, err := os.Stat(filepath.Join(app.DataDir(), dataFile+"-wal"))
	if err != nil {
		t.Fatalf("reading the size of the WAL: %v", err)
	}
	if log.Size() == 0 {
		t.Error("the maintenance truncated the WAL")
	}
}

// Connect identifies the writing pool by its limit. Bind notices if PocketBase sets other limits.
func TestBindRefusesOtherLimits(t *testing.T) {
	t.Parallel()
	used := func(path string) (*dbx.DB, error) {
		db, err := Connect(Normal)(path)
		if err == nil {
			err = db.DB().PingContext(t.Context()) // before it is limited
		}
		return db, err
	}
	for name, config := range map[string]core.BaseAppConfig{
		"one reader":   {DBConnect: Connect(Normal), DataMaxOpenConns: 1},
		"many writers": {DBConnect: used},
	} {
		config.DataDir = t.TempDir()
		app := core.NewBaseApp(config)
		Bind(app)
		if err := app.Bootstrap(); err == nil {
			t.Errorf("%s: the app was accepted", name)
		}
		if err := app.ResetBootstrapState(); err != nil {
			t.Errorf("%s: closing the app: %v", name, err)
		}
	}
}

func TestBindRefusesOtherPools(t *testing.T) {
	t.Parallel()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir()})
	Bind(app)
	if err := app.Bootstrap(); err == nil {
		t.Error("an app with PocketBase's own pools was accepted")
	}
	if err := app.ResetBootstrapState(); err != nil {
		t.Errorf("closing the app: %v", err)
	}
	if got := countersOf(writerOf(app)); got != (counters{}) {
		t.Errorf("an app without shared commits counts %v", got)
	}
}

// counters are the counters of a writing pool.
type counters struct{ Commits, Writes uint64 }

func stats(writers *sql.DB) counters { return countersOf(poolWriter(writers)) }

func countersOf(w *writer) counters {
	if w == nil {
		return counters{}
	}
	return counters{w.commits.Load(), w.writes.Load()}
}

// Concurrent checkpoints keep the WAL short, even if there are readers all the time.
func TestWALStaysShort(t *testing.T) {
	t.Parallel()
	for _, read := range []bool{false, true} {
		t.Run(fmt.Sprintf("read=%t", read), func(t *testing.T) {
			t.Parallel()
			readers, writers := pools(t)
			mustExec(t, writers, "CREATE TABLE large (id INTEGER PRIMARY KEY, content BLOB)")
			var path string
			if err := readers.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			defer group.Wait()
			written := make(chan struct{})
			defer close(written)
			if read {
				group.Go(func() {
					for n := 0; ; {
						select {
						case <-written:
							return
						default:
						}
						if err := readers.QueryRow("SELECT count(*) FROM (SELECT 1 FROM large ORDER BY id DESC LIMIT 50)").Scan(&n); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			const pageSize, rowPages = 4096, 20
			checkpoints := &poolWriter(writers).checkpoints
			for row := range 3 * checkpointPages / rowPages {
				mustExec(t, writers, "INSERT INTO large (content) VALUES (zeroblob(?))", rowPages*pageSize)
				if row%100 == 0 { // on a busy machine the writer may be much faster than a concurrent checkpoint
					checkpoints.Lock()
					checkpoints.Unlock() //nolint:staticcheck // it has waited for the checkpoint
				}
			}
			wal, err := os.Stat(path + "-wal")
			if err != nil {
				t.Fatal(err)
			}
			if pages := wal.Size() / pageSize; pages > 2*checkpointPages {
				t.Errorf("the WAL has %d pages", pages)
			}
		})
	}
}

// Once checkpoints are handed over, only the new owner runs them, when they are due.
func TestHandOverCheckpoints(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Normal))
	long := HandOverCheckpoints(app)
	if _, err := app.NonconcurrentDB().NewQuery("CREATE TABLE large (content BLOB)").Execute(); err != nil {
		t.Fatal(err)
	}
	const rowPages = 100
	grow := func(pages int) {
		t.Helper()
		for range pages / rowPages {
			if _, err := app.NonconcurrentDB().NewQuery(fmt.Sprintf("INSERT INTO large VALUES (zeroblob(%d))", 4096*rowPages)).Execute(); err != nil {
				t.Fatal(err)
			}
		}
	}
	grow(handOverPages / 2)
	select {
	case <-long:
		t.Error("a checkpoint of a short WAL is due")
	default:
	}
	grow(2 * handOverPages)
	<-long
	var row struct{ Busy, Log, Checkpointed int }
	if err := app.DB().NewQuery(statusSQL).Row(&row.Busy, &row.Log, &row.Checkpointed); err != nil {
		t.Fatal(err)
	}
	if row.Checkpointed != 0 || row.Log < handOverPages {
		t.Errorf("another checkpoint has written %d of %d pages", row.Checkpointed, row.Log)
	}
}
