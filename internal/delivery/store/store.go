// Package store keeps deliveries and their attempts in SQLite. Its Store is the queue of the engine, and what the API,
// commands and retention do with deliveries.
//
// fanout.go writes the deliveries of new events, recipients.go decides who receives an event, and queue.go explains the
// queue of a contact, which keeps its deliveries in order.
package store

import (
	"database/sql"
	"errors"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
)

// Store keeps deliveries in the app's own tables, so that they commit together with contacts and events.
//
// It reads on the app's pool and writes on its single writing connection, in short statements for many rows: the cost
// of a fetch or a commit does not grow with the backlog, and little with its own size. It bypasses dbx, which would
// rewrite the constant statements each time.
//
// Only the engine uses the fields beside app and directory, one call at a time, through delivery.Queue.
type Store struct {
	app       core.App
	directory *directory
	successes successes
	moved     time.Time // when the engine last moved the cursor
}

var _ delivery.Queue = (*Store)(nil)

var errClosed = errors.New("the queue needs an app that is open")

// New returns the store in the app's database.
func New(app core.App) *Store {
	s := &Store{app: app, successes: successes{map[string]time.Time{}, map[string]time.Time{}}}
	s.directory = newDirectory(func() ([]string, error) {
		return sqlite.Values[string](sqlite.Direct(s.app.ConcurrentDB()), "SELECT `id` FROM `tenants`")
	})
	return s
}

// read runs a query on the reading pool and calls scan for each row. It takes no context, which would cost the driver a
// goroutine for each query, and these take milliseconds. Restoring a backup replaces the pool, so it is not kept.
func (s *Store) read(query string, scan func(*sql.Rows) error, args ...any) error {
	db, open := s.app.ConcurrentDB().(*dbx.DB)
	if !open || db == nil {
		return errClosed
	}
	return sqlite.Each(db.DB(), query, scan, args...)
}

// statement returns a statement with its arguments.
func statement(text string, args ...any) sqlite.Statement {
	return sqlite.Statement{Text: text, Args: args}
}
