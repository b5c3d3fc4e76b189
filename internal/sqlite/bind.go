package sqlite

import (
	"database/sql"
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// maxWriters is how many transactions and writes of data.db may wait for their turn or their commit. More wait for
// one of these to be done.
const maxWriters = 128

// maxReaders is how many connections read data.db at the same time. They are kept: opening one takes as long as thirty
// reads.
const maxReaders = 16

// Bind lets many writers into the writing pool of data.db once it is open, which PocketBase limits to one, keeps its
// readers, and replaces PocketBase's daily maintenance. It may be called again, and on an app that is open.
func Bind(app core.App) {
	const id = "contactbaseSQLite"
	app.OnBootstrap().Bind(&hook.Handler[*core.BootstrapEvent]{
		Id: id,
		Func: func(e *core.BootstrapEvent) error {
			if err := e.Next(); err != nil {
				return err
			}
			return admit(e.App)
		},
	})
	if app.IsBootstrapped() {
		if err := admit(app); err != nil {
			app.Logger().Warn("writes of data.db are not grouped", "error", err)
		}
	}
	// PocketBase's own job truncates the logs: it would hold all writers back until the slowest reader is done.
	app.Cron().MustAdd("__pbDBOptimize__", "0 0 * * *", func() { maintain(app) })
}

// admit sets the limits of the pools.
func admit(app core.App) error {
	db, ok := app.NonconcurrentDB().(*dbx.DB)
	if !ok {
		return fmt.Errorf("the writing pool is a %T", app.NonconcurrentDB())
	}
	if _, ok := db.DB().Driver().(pooled); !ok {
		return fmt.Errorf("the writing pool was not opened by Connect")
	}
	db.DB().SetMaxOpenConns(maxWriters)
	db.DB().SetMaxIdleConns(maxWriters)
	if readers, ok := app.ConcurrentDB().(*dbx.DB); ok {
		readers.DB().SetMaxOpenConns(maxReaders)
		readers.DB().SetMaxIdleConns(maxReaders)
	}
	return nil
}

// maintain refreshes the statistics of the query planner and moves what it can from the logs into the databases,
// without holding anybody back.
func maintain(app core.App) {
	for _, task := range []struct {
		db    dbx.Builder
		query string
	}{
		{app.NonconcurrentDB(), "PRAGMA wal_checkpoint(PASSIVE)"},
		{app.AuxNonconcurrentDB(), "PRAGMA wal_checkpoint(PASSIVE)"},
		{app.NonconcurrentDB(), "PRAGMA optimize"},
	} {
		if _, err := task.db.NewQuery(task.query).Execute(); err != nil {
			app.Logger().Warn("the daily maintenance of a database failed", "query", task.query, "error", err)
		}
	}
}

// Stats counts what the writing pool of data.db has committed since it was opened.
type Stats struct {
	Commits uint64 // transactions of SQLite's, each of which waited for the disk
	Writes  uint64 // transactions and single writes that shared them
}

// ReadStats returns the counters of the app, zero where its writes are not grouped.
func ReadStats(app core.App) Stats {
	db, ok := app.NonconcurrentDB().(*dbx.DB)
	if !ok {
		return Stats{}
	}
	return poolStats(db.DB())
}

func poolStats(db *sql.DB) Stats {
	p, ok := db.Driver().(pooled)
	if !ok {
		return Stats{}
	}
	w := p.connector.writer.Load()
	if w == nil {
		return Stats{}
	}
	return Stats{Commits: w.commits.Load(), Writes: w.writes.Load()}
}
