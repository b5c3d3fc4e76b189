package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// idleWriters is how many virtual connections of the writing pool are kept. There may be any number of them: each is a
// place in the line of the writer, where nobody waits for longer than patience.
const idleWriters = 128

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
	writers, err := poolOf(app.NonconcurrentDB(), true)
	if err != nil {
		return fmt.Errorf("the writing pool: %w", err)
	}
	readers, err := poolOf(app.ConcurrentDB(), false)
	if err != nil {
		return fmt.Errorf("the reading pool: %w", err)
	}
	writers.SetMaxOpenConns(0)
	writers.SetMaxIdleConns(idleWriters)
	readers.SetMaxOpenConns(maxReaders)
	readers.SetMaxIdleConns(maxReaders)
	return nil
}

// poolOf returns the pool that PocketBase uses for writing, or for reading. The error tells that it is not what Connect
// took it for: it goes by the limits that PocketBase sets, which another version may set differently.
func poolOf(builder dbx.Builder, writing bool) (*sql.DB, error) {
	db, ok := builder.(*dbx.DB)
	if !ok {
		return nil, fmt.Errorf("it is a %T", builder)
	}
	driver, ok := db.DB().Driver().(pooled)
	if !ok {
		return nil, errors.New("it was not opened by Connect")
	}
	if grouped := driver.connector.writer.Load() != nil; grouped != writing {
		return nil, fmt.Errorf("whether it commits in groups is %t; PocketBase limits its writing pool to one connection before its first use, and no other", grouped)
	}
	return db.DB(), nil
}

// maintain checkpoints the WALs as far as it can without holding anybody back.
func maintain(app core.App) {
	for _, db := range []dbx.Builder{app.ConcurrentDB(), app.AuxNonconcurrentDB()} { // of data.db on a reader's connection, beside the writer
		if _, err := db.NewQuery("PRAGMA wal_checkpoint(PASSIVE)").Execute(); err != nil {
			app.Logger().Warn("the daily maintenance of a database failed", "error", err)
		}
	}
}

// Stats counts what the writing pool of data.db has committed since it was opened.
type Stats struct {
	Commits uint64        // transactions of SQLite's, each of which waited for the disk
	Writes  uint64        // transactions and single writes that shared them
	Longest time.Duration // for how long the longest turn kept all other writers waiting
}

// ReadStats returns the counters of the app, zero where its writes are not grouped.
func ReadStats(app core.App) Stats {
	return statsOf(writerOf(app))
}

// Commits returns what counts the app's commits of data.db, also once that is closed. It is 0 where its writes are not grouped.
func Commits(app core.App) func() uint64 {
	w := writerOf(app)
	return func() uint64 { return statsOf(w).Commits }
}

func statsOf(w *writer) Stats {
	if w == nil {
		return Stats{}
	}
	commits, _ := w.commitTimes.total()
	_, longest := w.turnTimes.total()
	return Stats{Commits: commits, Writes: w.writes.Load(), Longest: longest}
}

// Guard has data.db commit nothing while may returns an error, which those get whose writes are lost with that. It is asked before
// each commit, while all other writers wait: it must take no time.
func Guard(app core.App, may func() error) {
	if w := writerOf(app); w != nil {
		w.guard.Store(&may)
	}
}

// HandOverLog leaves it to the caller to move the log of data.db into the file, Alone, whenever the channel has a value. It is for
// those who read the log and keep everybody else from moving it. The channel is nil where the app's writes are not grouped.
func HandOverLog(app core.App) (long <-chan struct{}) {
	w := writerOf(app)
	if w == nil {
		return nil
	}
	w.checkpoints.handedOver.Store(true)
	return w.checkpoints.long
}

// Alone calls do while no other writer of this process has anything to commit, nor gets to write: it must take a few milliseconds at the
// most.
func Alone(ctx context.Context, app core.App, do func() error) error {
	w := writerOf(app)
	if w == nil {
		return errClosed
	}
	return w.alone(ctx, func(context.Context, *connection) error { return do() })
}

// writerOf returns the writer of the app's data.db, nil where there is none yet or its writes are not grouped.
func writerOf(app core.App) *writer {
	db, ok := app.NonconcurrentDB().(*dbx.DB)
	if !ok {
		return nil
	}
	return poolWriter(db.DB())
}

func poolWriter(db *sql.DB) *writer {
	p, ok := db.Driver().(pooled)
	if !ok {
		return nil
	}
	return p.connector.writer.Load()
}
