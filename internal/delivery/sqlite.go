package delivery

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// SQLiteQueue keeps the queue in the app's own tables, so that an event and its deliveries commit with what happened.
//
// It reads on the app's pool of connections and writes on its single writing one, in short statements that carry many
// rows: what a claim or a completion costs does not grow with the backlog, and little with its own size.
//
// It talks to the pools directly. The statements are constant, and dbx would rewrite them each time.
type SQLiteQueue struct {
	app core.App

	mu        sync.Mutex
	turns     turns
	held      heldContacts
	successes successes
}

// NewSQLiteQueue returns the queue in the app's database.
func NewSQLiteQueue(app core.App) *SQLiteQueue { return &SQLiteQueue{app: app} }

// queueOf returns the queue that everything in the process shares which does not have one of its own.
func queueOf(app core.App) *SQLiteQueue {
	return app.Store().GetOrSet("contactbase.delivery.queue", func() any { return NewSQLiteQueue(app) }).(*SQLiteQueue)
}

// runner is what a pool and a transaction have in common.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// pool returns the connections behind one of the app's builders. It is looked up each time, because restoring a backup
// replaces them.
func pool(builder dbx.Builder) (*sql.DB, error) {
	db, ok := builder.(*dbx.DB)
	if !ok || db == nil {
		return nil, errors.New("the queue needs an app that is open and in no transaction")
	}
	return db.DB(), nil
}

// read runs a query on the reading pool and hands each row to scan.
func (q *SQLiteQueue) read(ctx context.Context, query string, scan func(*sql.Rows) error, args ...any) error {
	db, err := pool(q.app.ConcurrentDB())
	if err != nil {
		return err
	}
	return each(ctx, db, query, scan, args...)
}

// write runs a query that changes rows, as a transaction of its own, and hands each row that it returns to scan.
func (q *SQLiteQueue) write(ctx context.Context, query string, scan func(*sql.Rows) error, args ...any) error {
	db, err := pool(q.app.NonconcurrentDB())
	if err != nil {
		return err
	}
	return each(ctx, db, query, scan, args...)
}

// transact runs do in one transaction.
func (q *SQLiteQueue) transact(ctx context.Context, do func(tx *sql.Tx) error) error {
	db, err := pool(q.app.NonconcurrentDB())
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	if err = sqlite.ExpectCommit(tx); err == nil {
		err = do(tx)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// each runs a query and hands each row to scan. A context that can end would cost the driver a goroutine for each
// query, and these take milliseconds.
func each(ctx context.Context, run runner, query string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := run.QueryContext(context.WithoutCancel(ctx), query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exec runs a statement and returns how many rows it changed.
func exec(ctx context.Context, run runner, query string, args ...any) (int64, error) {
	result, err := run.ExecContext(context.WithoutCancel(ctx), query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// list encodes values for json_each, through which one statement takes any number of them.
func list[T any](values []T) (string, error) {
	encoded, err := json.Marshal(values)
	return string(encoded), err
}

// NextDue implements Queue.
func (q *SQLiteQueue) NextDue(ctx context.Context, now time.Time) (time.Time, error) {
	var next sql.NullString
	err := q.read(ctx, nextDueSQL, func(rows *sql.Rows) error { return rows.Scan(&next) }, stamp(now))
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for the next delivery that becomes due: %w", err)
	}
	return parseStamp(next.String), nil
}

// Release implements Queue.
func (q *SQLiteQueue) Release(ctx context.Context, jobs []*Job) error {
	if len(jobs) == 0 {
		return nil
	}
	err := q.transact(ctx, func(tx *sql.Tx) error {
		for _, job := range jobs {
			if _, err := exec(ctx, tx, releaseSQL, job.DeliveryID, stamp(job.Lease)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("releasing %d deliveries: %w", len(jobs), err)
	}
	return nil
}

// ReleaseAll implements Queue.
func (q *SQLiteQueue) ReleaseAll(ctx context.Context) error {
	var rowids []int64
	err := q.read(ctx, leasedSQL, func(rows *sql.Rows) error {
		var rowid int64
		err := rows.Scan(&rowid)
		rowids = append(rowids, rowid)
		return err
	})
	if err == nil && len(rowids) > 0 {
		var encoded string
		if encoded, err = list(rowids); err == nil {
			err = q.transact(ctx, func(tx *sql.Tx) error {
				_, err := exec(ctx, tx, unleaseSQL, encoded)
				return err
			})
		}
	}
	if err != nil {
		return fmt.Errorf("releasing all deliveries: %w", err)
	}
	return nil
}
