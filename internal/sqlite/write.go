package sqlite

import (
	"database/sql"
	"errors"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// Statement is an INSERT, UPDATE or DELETE as it is written, with ? for a parameter.
type Statement struct {
	Text string
	Args []any
}

// Repeat returns the statement that runs once for each of the lists of arguments, one after the other, in a transaction. One of
// many rows has SQLite keep every page as it was, and read the rows from somewhere, which takes as long as it takes to write them. The
// first that fails ends it with a RepeatError: what those before it wrote is there.
func Repeat(text string, lists [][]any) Statement {
	return Statement{Text: text, Args: []any{repeated(lists)}}
}

// RepeatError is the error of one of the runs of a statement that is repeated.
type RepeatError struct {
	Done int // how many were run before it
	Err  error
}

func (e *RepeatError) Error() string { return e.Err.Error() }

func (e *RepeatError) Unwrap() error { return e.Err }

// Reader runs queries as they are written, with ? for a parameter.
type Reader interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

// ReaderOf returns what reads in the app's transaction, or in its writing pool where it has none.
func ReaderOf(app core.App) Reader { return Direct(app.NonconcurrentDB()) }

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

// Transact is PocketBase's RunInTransaction for what takes a few milliseconds at the most: it shares the commit of those
// before it, who wait for it. Any other transaction has theirs committed first. Where another one takes the shared
// commit down, do is called again.
func Transact(app core.App, do func(tx core.App) error) error {
	if app.IsTransactional() {
		return do(app)
	}
	err := app.RunInTransaction(func(tx core.App) error {
		if _, err := Direct(tx.NonconcurrentDB()).Exec("", short{}); err != nil {
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
