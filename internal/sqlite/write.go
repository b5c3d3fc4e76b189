package sqlite

import (
	"database/sql"
	"errors"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// Statement is an INSERT, UPDATE or DELETE, with ? for each parameter.
type Statement struct {
	Text string
	Args []any
}

// Repeat returns a statement that runs once for each list of arguments, in one transaction. That is faster than one statement with many
// rows, for which SQLite keeps a copy of every page. The first run that fails ends it with a RepeatError; the runs before it stay written.
func Repeat(text string, lists [][]any) Statement {
	return Statement{Text: text, Args: []any{repeated(lists)}}
}

// RepeatError is the error of one run of a repeated statement.
type RepeatError struct {
	Done int // how many runs succeeded before it
	Err  error
}

func (e *RepeatError) Error() string { return e.Err.Error() }

func (e *RepeatError) Unwrap() error { return e.Err }

// Reader runs queries, with ? for each parameter.
type Reader interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

// ReaderOf returns a reader in the app's transaction, or in its writing pool if it has none.
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

// Transact is PocketBase's RunInTransaction for short transactions of a few milliseconds at most: it joins the open commit batch, whose
// writers wait for it. Any other transaction commits that batch first. If the batch fails because of another transaction, do is called
// again.
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
	if errors.Is(err, ErrBatch) {
		err = app.RunInTransaction(do)
	}
	return err
}

// savepoint is the name of the savepoints of Savepoint. They may be nested.
const savepoint = "contactbase_part"

// Savepoint runs a part of the app's transaction. If the part returns an error, its writes are undone and the transaction goes on.
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
