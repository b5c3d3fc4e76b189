package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/sqlite/physical"
)

// idleWriters is how many idle virtual connections the writing pool keeps. Their number is not limited: each waits
// for the writer lock, for at most writeTimeout.
const idleWriters = 128

// MaxReaders is how many connections read data.db concurrently. The pool keeps them open, because opening one takes
// as long as thirty reads.
const MaxReaders = 20

// Bind removes the limit of one connection that PocketBase sets on the writing pool of data.db, keeps the connections
// of readers open, and replaces PocketBase's daily maintenance. It may be called again, and on an app that is open.
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
			app.Logger().Warn("writers of data.db do not share commits", "error", err)
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
	readers.SetMaxOpenConns(MaxReaders)
	readers.SetMaxIdleConns(MaxReaders)
	return nil
}

// poolOf returns PocketBase's pool for writing or reading. It returns an error if Connect has mistaken it for the
// other one: Connect tells them apart by the limits that PocketBase sets, and another version may set different ones.
func poolOf(builder dbx.Builder, writing bool) (*sql.DB, error) {
	connector := connectorOf(builder)
	if connector == nil {
		return nil, errors.New("it was not opened by Connect")
	}
	if batches := connector.writer.Load() != nil; batches != writing {
		return nil, fmt.Errorf("it shares commits: %t, want %t: does PocketBase still limit its writing pool, "+
			"and no other, to one connection before its first use?", batches, writing)
	}
	return connector.pool, nil
}

// maintain checkpoints the WALs as far as possible without blocking anyone.
func maintain(app core.App) {
	// that of data.db on a reading connection, without the writer lock
	for _, db := range []dbx.Builder{app.ConcurrentDB(), app.AuxNonconcurrentDB()} {
		if _, err := db.NewQuery(checkpointSQL).Execute(); err != nil {
			app.Logger().Warn("the daily maintenance of a database failed", "error", err)
		}
	}
}

// Commits returns a function that returns the number of the app's commits to data.db, even after that is closed, or 0
// if its writers do not share commits.
func Commits(app core.App) func() uint64 {
	if w := writerOf(app); w != nil {
		return w.commits.Load
	}
	return func() uint64 { return 0 }
}

// PreCommit sets the hook before each commit to data.db. If it returns an error, the batch is not committed, and its
// writers get that error. All other writers wait for the hook, so it must return at once.
func PreCommit(app core.App, hook func() error) {
	if w := writerOf(app); w != nil {
		w.preCommit.Store(&hook)
	}
}

// HandOverCheckpoints leaves checkpoints of data.db to the caller, which runs them within Exclusive whenever the
// channel has a value. It is for the replica, whose read transaction blocks the checkpoints of others. The channel is
// nil if the app's writers do not share commits.
func HandOverCheckpoints(app core.App) (due <-chan struct{}) {
	w := writerOf(app)
	if w == nil {
		return nil
	}
	w.checkpoints.handedOver.Store(true)
	return w.checkpoints.due
}

// Exclusive calls do while no writer of this process writes or has anything to commit. The function do must take a
// few milliseconds at most.
func Exclusive(ctx context.Context, app core.App, do func() error) error {
	w := writerOf(app)
	if w == nil {
		return errClosed
	}
	return w.exclusive(ctx, func(context.Context, *physical.Connection) error { return do() })
}

// connectorOf returns the connector of a pool that Connect has opened, and nil for any other builder, such
// as a transaction.
func connectorOf(builder dbx.Builder) *connector {
	if db, ok := builder.(*dbx.DB); ok {
		if p, ok := db.DB().Driver().(pooled); ok {
			return p.connector
		}
	}
	return nil
}

// writerOf returns the writer of the app's data.db, or nil if there is none yet or its writers do not share commits.
func writerOf(app core.App) *writer {
	if c := connectorOf(app.NonconcurrentDB()); c != nil {
		return c.writer.Load()
	}
	return nil
}

func poolWriter(db *sql.DB) *writer {
	if p, ok := db.Driver().(pooled); ok {
		return p.connector.writer.Load()
	}
	return nil
}
