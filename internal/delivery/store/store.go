// Package store keeps events' deliveries and their attempts in SQLite: all that is read and written of them.
//
// It is the delivery.Store that is shipped: it does what the engine, an admin and retention ask for.
package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
)

// Store keeps deliveries in the app's own tables, so that an event and its deliveries commit with what happened.
//
// It reads on the app's pool of connections and writes on its single writing one, in short statements that carry many
// rows: what a fetch or a commit costs does not grow with the backlog, and little with its own size.
//
// It talks to the pools directly. The statements are constant, and dbx would rewrite them each time.
//
// Only the engine's goroutine uses the fields beside app, through delivery.Queue.
type Store struct {
	app       core.App
	successes successes
	chunks    sqlite.Chunks // of FanOutOld
	unwanted  string        // the last event after the cursor that no webhook wants, as all before it; "" for none
	moved     time.Time     // when the cursor was moved for those last
}

var _ delivery.Store = (*Store)(nil)

// New returns the store in the app's database.
func New(app core.App) *Store {
	return &Store{app: app, successes: successes{map[string]time.Time{}, map[string]time.Time{}}}
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
	if len(values) == 0 {
		return "[]", nil // null would be a list of one value, which is unknown
	}
	encoded, err := json.Marshal(values)
	return string(encoded), err
}
