// Package store keeps deliveries and their attempts in SQLite. Its Store is the shipped delivery.Store.
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

// Store keeps deliveries in the app's own tables, so that they commit together with contacts and events.
//
// It reads on the app's pool and writes on its single writing connection, in short statements for many rows: the cost of a fetch or a commit
// does not grow with the backlog, and little with its own size. It bypasses dbx, which would rewrite the constant statements each time.
//
// Only the engine's goroutine uses the fields beside app, through delivery.Queue.
type Store struct {
	app       core.App
	successes successes
	chunks    sqlite.Chunks // of FanOutOld
	unwanted  string        // the event after the cursor up to which no webhook wants any; "" for none
	moved     time.Time     // when the cursor last moved past those
}

var _ delivery.Store = (*Store)(nil)

// New returns the store in the app's database.
func New(app core.App) *Store {
	return &Store{app: app, successes: successes{map[string]time.Time{}, map[string]time.Time{}}}
}

// pool returns the connections behind one of the app's builders. Restoring a backup replaces them, so do not keep it.
func pool(builder dbx.Builder) (*sql.DB, error) {
	db, ok := builder.(*dbx.DB)
	if !ok || db == nil {
		return nil, errors.New("the queue needs an app that is open and in no transaction")
	}
	return db.DB(), nil
}

// read runs a query on the reading pool and calls scan for each row. It omits the context, which would cost the driver a goroutine for each
// query, and these take milliseconds.
func (s *Store) read(_ context.Context, query string, scan func(*sql.Rows) error, args ...any) error {
	db, err := pool(s.app.ConcurrentDB())
	if err != nil {
		return err
	}
	return sqlite.Each(db, query, scan, args...)
}

// write runs a write function as one transaction and returns how many rows each of its statements changed.
func (s *Store) write(plan func(tx sqlite.Reader) ([]sqlite.Statement, error)) ([]int64, error) {
	return sqlite.Write(s.app, plan)
}

// execute runs statements as one transaction.
func (s *Store) execute(statements ...sqlite.Statement) error {
	_, err := s.write(func(sqlite.Reader) ([]sqlite.Statement, error) { return statements, nil })
	return err
}

// statement returns a statement with its arguments.
func statement(text string, args ...any) sqlite.Statement {
	return sqlite.Statement{Text: text, Args: args}
}

// list encodes values for json_each, so that one statement takes any number of them.
func list[T any](values []T) (string, error) {
	if len(values) == 0 {
		return "[]", nil // json_each reads null as one value
	}
	encoded, err := json.Marshal(values)
	return string(encoded), err
}
