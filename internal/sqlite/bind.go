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

// idleWriters is how many virtual connections the writing pool keeps. There may be any number of them: each is a waiter for the writer
// lock, for writeTimeout at most.
const idleWriters = 128

// maxReaders is how many connections read data.db at the same time. The pool keeps them, because opening one takes as long as thirty
// reads.
const maxReaders = 16

// Bind removes the limit of one connection that PocketBase sets on the writing pool of data.db, keeps the connections of readers open, and
// replaces PocketBase's daily maintenance. It may be called again, and on an app that is open.
func Bind(app core.App) {
	const id = "contactbaseSQLite"
	app.OnBootstrap().Bind(&hook.Handler[*core.BootstrapEvent]{
		Id: id,
		Func: func(e *core.BootstrapEvent) error {
			if err := e.Next(); err != nil {
				return err
			}
			return setLimits(e.App)
		},
	})
	if app.IsBootstrapped() {
		if err := setLimits(app); err != nil {
			app.Logger().Warn("writes of data.db do not share commits", "error", err)
		}
	}
	// PocketBase's own job truncates the WALs: all writers would wait for the slowest reader.
	app.Cron().MustAdd("__pbDBOptimize__", "0 0 * * *", func() { maintain(app) })
}

// setLimits sets the limits of the pools.
func setLimits(app core.App) error {
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

// poolOf returns the pool that PocketBase uses for writing, or for reading. It returns an error if Connect took it for the other one:
// Connect goes by the limits that PocketBase sets, and another version may set them differently.
func poolOf(builder dbx.Builder, writing bool) (*sql.DB, error) {
	db, ok := builder.(*dbx.DB)
	if !ok {
		return nil, fmt.Errorf("it is a %T", builder)
	}
	driver, ok := db.DB().Driver().(pooled)
	if !ok {
		return nil, errors.New("it was not opened by Connect")
	}
	if batches := driver.connector.writer.Load() != nil; batches != writing {
		return nil, fmt.Errorf("it shares commits: %t, want %t: does PocketBase still limit its writing pool, and no other, to one connection before its first use?", batches, writing)
	}
	return db.DB(), nil
}

// maintain checkpoints the WALs as far as it can without blocking anybody.
func maintain(app core.App) {
	for _, db := range []dbx.Builder{app.ConcurrentDB(), app.AuxNonconcurrentDB()} { // of data.db on a reader's connection, beside the writer
		if _, err := db.NewQuery("PRAGMA wal_checkpoint(PASSIVE)").Execute(); err != nil {
			app.Logger().Warn("the daily maintenance of a database failed", "error", err)
		}
	}
}

// Stats counts what the writing pool of data.db has committed since it was opened.
type Stats struct {
	Commits uint64        // commit batches, each of which waited for the disk
	Writes  uint64        // transactions and single writes that shared them
	Longest time.Duration // the longest time that one write held the writer lock
}

// ReadStats returns the counters of the app, zero if its writes do not share commits.
func ReadStats(app core.App) Stats {
	return statsOf(writerOf(app))
}

// Commits returns a function that returns the number of the app's commits of data.db, also after that is closed. It returns 0 if the
// app's writes do not share commits.
func Commits(app core.App) func() uint64 {
	w := writerOf(app)
	return func() uint64 { return statsOf(w).Commits }
}

func statsOf(w *writer) Stats {
	if w == nil {
		return Stats{}
	}
	commits, _ := w.commitTimes.total()
	_, longest := w.holdTimes.total()
	return Stats{Commits: commits, Writes: w.writes.Load(), Longest: longest}
}

// PreCommit sets the hook before each commit of data.db. While it returns an error nothing is committed, and the writers of the batch
// get that error. All other writers wait for the hook: it must return at once.
func PreCommit(app core.App, hook func() error) {
	if w := writerOf(app); w != nil {
		w.preCommit.Store(&hook)
	}
}

// HandOverCheckpoints leaves checkpoints of data.db to the caller, who runs them within Exclusive when the channel has a value. It is for
// the replica, which reads the WAL and blocks the checkpoints of others. The channel is nil if the app's writes do not share commits.
func HandOverCheckpoints(app core.App) (due <-chan struct{}) {
	w := writerOf(app)
	if w == nil {
		return nil
	}
	w.checkpoints.handedOver.Store(true)
	return w.checkpoints.due
}

// Exclusive calls do while no other writer of this process writes or has anything to commit. do must take a few milliseconds at most.
func Exclusive(ctx context.Context, app core.App, do func() error) error {
	w := writerOf(app)
	if w == nil {
		return errClosed
	}
	return w.exclusive(ctx, func(context.Context, *connection) error { return do() })
}

// writerOf returns the writer of the app's data.db, nil if there is none yet or its writes do not share commits.
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
