// Package store keeps events' deliveries and their attempts in SQLite: all that is read and written of them.
//
// It is the delivery.Store that is shipped: it does what the engine, an admin and retention ask for.
package store

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

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Store keeps deliveries in the app's own tables, so that an event and its deliveries commit with what happened.
//
// It reads on the app's pool of connections and writes on its single writing one, in short statements that carry many
// rows: what a claim or a completion costs does not grow with the backlog, and little with its own size.
//
// It talks to the pools directly. The statements are constant, and dbx would rewrite them each time.
type Store struct {
	app core.App

	claiming   sync.Mutex // who chooses deliveries, or is done with some; before mu
	held       held
	considered string // under claiming: the last event of which, as of all before it, nothing is left to be claimed unplaced

	mu        sync.Mutex
	fair      fairQueue
	list      readyList
	successes successes

	placing  sync.Mutex
	chunks   sqlite.Chunks // of placing
	unwanted string        // the last event behind the position that no webhook wants, as all before it; "" for none
	moved    time.Time     // when the position was moved for those last
}

var _ delivery.Store = (*Store)(nil)

// New returns the store in the app's database.
func New(app core.App) *Store { return &Store{app: app, held: held{flights: map[string]*flight{}}} }

// pool returns the connections behind one of the app's builders. It is looked up each time, because restoring a backup
// replaces them.
func pool(builder dbx.Builder) (*sql.DB, error) {
	db, ok := builder.(*dbx.DB)
	if !ok || db == nil {
		return nil, errors.New("the queue needs an app that is open and in no transaction")
	}
	return db.DB(), nil
}

// read runs a query on the reading pool and hands each row to scan. It leaves the context out: one that can end would cost the driver a
// goroutine for each query, and these take milliseconds.
func (s *Store) read(_ context.Context, query string, scan func(*sql.Rows) error, args ...any) error {
	db, err := pool(s.app.ConcurrentDB())
	if err != nil {
		return err
	}
	return sqlite.Each(db, query, scan, args...)
}

// commit runs a plan as one transaction and returns how many rows each of its statements changed.
func (s *Store) commit(plan func(tx sqlite.Reader) ([]sqlite.Statement, error)) ([]int64, error) {
	return sqlite.Write(s.app, plan)
}

// execute runs statements as one transaction.
func (s *Store) execute(statements ...sqlite.Statement) error {
	_, err := s.commit(func(sqlite.Reader) ([]sqlite.Statement, error) { return statements, nil })
	return err
}

// statement returns a statement with its arguments.
func statement(text string, args ...any) sqlite.Statement {
	return sqlite.Statement{Text: text, Args: args}
}

// list encodes values for json_each, through which one statement takes any number of them.
func list[T any](values []T) (string, error) {
	encoded, err := json.Marshal(values)
	return string(encoded), err
}

// NextDue implements delivery.Queue.
func (s *Store) NextDue(ctx context.Context, now time.Time) (time.Time, error) {
	var next sql.NullString
	err := s.read(ctx, nextDueSQL, func(rows *sql.Rows) error { return rows.Scan(&next) }, stamp.Stored(now))
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for the next delivery that becomes due: %w", err)
	}
	return stamp.Parse(next.String), nil
}

// Release implements delivery.Queue.
func (s *Store) Release(_ context.Context, jobs []*delivery.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	statements := make([]sqlite.Statement, 0, len(jobs))
	endpoints := make(map[string]string, len(jobs))
	for _, job := range jobs {
		endpoints[job.Endpoint.WebhookID] = job.Endpoint.TenantID
		if !job.Exclusive || job.Unplaced { // which may have been placed meanwhile
			statements = append(statements, statement(releaseSQL, job.EventID, job.Endpoint.WebhookID, stamp.Stored(job.Lease)))
		}
	}
	s.letGo(jobs, true) // first, because a claim in memory never expires, and the write may fail; the stored mark does expire
	var err error
	if len(statements) > 0 {
		if err = s.execute(statements...); err != nil {
			err = fmt.Errorf("releasing %d deliveries: %w", len(jobs), err)
		}
	}
	s.noteReady(endpoints, time.Now())
	return err
}

// ReleaseAll implements delivery.Queue.
func (s *Store) ReleaseAll(ctx context.Context) error {
	var rowids []int64
	err := s.read(ctx, leasedSQL, func(rows *sql.Rows) error {
		var rowid int64
		err := rows.Scan(&rowid)
		rowids = append(rowids, rowid)
		return err
	})
	if err == nil && len(rowids) > 0 {
		var encoded string
		if encoded, err = list(rowids); err == nil {
			err = s.execute(statement(unleaseSQL, encoded))
		}
	}
	if err != nil {
		return fmt.Errorf("releasing all deliveries: %w", err)
	}
	s.forgetReady()
	return nil
}
