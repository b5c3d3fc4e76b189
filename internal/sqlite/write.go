package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// Statement is an INSERT, UPDATE or DELETE as it is written, with ? for a parameter.
type Statement struct {
	Text string
	Args []any
}

// Reader runs queries as they are written, with ? for a parameter.
type Reader interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

// ReaderOf returns what reads in the app's transaction, or in its writing pool where it has none.
func ReaderOf(app core.App) Reader { return Direct(app.NonconcurrentDB()) }

// plan tells how a transaction writes.
type plan int

const (
	unplanned plan = iota // statement by statement, which may be rolled back at any point
	planned
	replanned // once more, with nobody else, after the group of the first time failed
)

// planKey is under which a context carries a plan to the driver.
type planKey struct{}

// Write runs a plan as one transaction: first it reads, and checks what there is to check; then the statements that it
// returns are run. It returns how many rows each of them changed.
//
// Whatever a plan refuses it refuses before anything is written, and a first statement that fails has undone itself. So
// it needs no savepoint, which spares a quarter of the time of a small write, and cannot take back the work of others
// that share its commit. Should a later statement fail all the same, or the commit, those others run again by
// themselves; so the plan may be called twice, and must change nothing but what it returns.
//
// In an app that is in a transaction, the plan becomes a part of that one.
func Write(app core.App, do func(Reader) ([]Statement, error)) ([]int64, error) {
	switch db := app.NonconcurrentDB().(type) {
	case *dbx.DB:
		return writePlan(db.DB(), do)
	case *dbx.Tx:
		statements, err := do(ReaderOf(app))
		if err != nil {
			return nil, err
		}
		return Run(app, statements)
	default:
		return nil, errClosed
	}
}

func writePlan(db *sql.DB, do func(Reader) ([]Statement, error)) ([]int64, error) {
	changed, err := runPlan(db, planned, do)
	if errors.Is(err, ErrGroup) {
		changed, err = runPlan(db, replanned, do)
	}
	return changed, err
}

func runPlan(db *sql.DB, how plan, do func(Reader) ([]Statement, error)) ([]int64, error) {
	ctx := context.WithValue(context.Background(), planKey{}, how)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // after a panic, too; otherwise the transaction has ended
	statements, err := do(planReader{tx})
	if err != nil {
		return nil, err
	}
	changed, err := run(tx, statements)
	if err != nil {
		return nil, err
	}
	return changed, tx.Commit()
}

// planReader keeps a plan from writing while it reads.
type planReader struct{ tx *sql.Tx }

func (r planReader) Query(query string, args ...any) (*sql.Rows, error) {
	if parse(query).kind != kindRead {
		return nil, fmt.Errorf("a plan only reads before it writes: %s", query)
	}
	return r.tx.QueryContext(context.Background(), query, args...)
}

// Run runs statements in the app's transaction and returns how many rows each of them changed.
func Run(tx core.App, statements []Statement) ([]int64, error) {
	return run(Direct(tx.NonconcurrentDB()), statements)
}

func run(tx dbx.Executor, statements []Statement) ([]int64, error) {
	changed := make([]int64, len(statements))
	for i, s := range statements {
		result, err := tx.Exec(s.Text, s.Args...)
		if err != nil {
			return nil, err
		}
		if changed[i], err = result.RowsAffected(); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// shortMark is what Transact tells a connection: nothing to SQLite.
const shortMark = "-- short"

// Transact is PocketBase's RunInTransaction for what takes a few milliseconds at the most: it shares the commit of those
// before it, who wait for it. Any other transaction has theirs committed first. Where another one takes the shared
// commit down, do is called again.
func Transact(app core.App, do func(tx core.App) error) error {
	if app.IsTransactional() {
		return do(app)
	}
	err := app.RunInTransaction(func(tx core.App) error {
		if _, err := Direct(tx.NonconcurrentDB()).Exec(shortMark); err != nil {
			return err
		}
		return do(tx)
	})
	if errors.Is(err, ErrGroup) {
		err = app.RunInTransaction(do)
	}
	return err
}

// savepoint is the name of the savepoints of Savepoint, which may be nested.
const savepoint = "contactbase_part"

// Savepoint runs a part of the app's transaction that fails as a whole: what it wrote until its error is undone, and the
// transaction goes on.
func Savepoint(tx core.App, part func() error) error {
	db := Direct(tx.NonconcurrentDB())
	if _, err := db.Exec("SAVEPOINT " + savepoint); err != nil {
		return err
	}
	err := part()
	if err != nil {
		if _, undoErr := db.Exec("ROLLBACK TO " + savepoint); undoErr != nil {
			return errors.Join(err, undoErr)
		}
	}
	if _, releaseErr := db.Exec("RELEASE " + savepoint); releaseErr != nil {
		return errors.Join(err, releaseErr)
	}
	return err
}
