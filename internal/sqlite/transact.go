package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// Statement is an INSERT, UPDATE or DELETE, with ? for each parameter, or with names for Named.
type Statement struct {
	Text string
	Args []any
}

// Repeat returns a statement that runs once for each list of arguments, in one transaction. That is faster than one
// statement with many rows, for which SQLite keeps a copy of every page. It ends with a StatementError at the first
// run that fails, and does not undo the runs before.
func Repeat(text string, lists [][]any) Statement {
	return Statement{Text: text, Args: []any{repeated(lists)}}
}

// StatementError is the error of one of several statements.
type StatementError struct {
	Statement int // its index
	Done      int // how many runs of a repeated statement succeeded before
	Err       error
}

func (e *StatementError) Error() string { return e.Err.Error() }

func (e *StatementError) Unwrap() error { return e.Err }

// Reader runs queries, with ? for each parameter, or with names for Named.
type Reader interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

// Direct returns an executor that passes statements to SQLite unchanged, with ? for each parameter. dbx searches each
// statement for names in braces and brackets, which takes longer than SQLite needs for most of them.
func Direct(db dbx.Builder) dbx.Executor {
	switch db := db.(type) {
	case *dbx.DB:
		return db.DB()
	case *dbx.Tx:
		if builder, ok := db.Builder.(interface{ Executor() dbx.Executor }); ok {
			return builder.Executor()
		}
	}
	panic(fmt.Sprintf("sqlite: a %T has no executor", db)) // unreachable with the dbx of go.mod
}

// ReaderOf returns a reader in the app's transaction, or in its writing pool if it has none.
func ReaderOf(app core.App) Reader { return Direct(app.NonconcurrentDB()) }

// Tx is a transaction: it reads, and runs statements as Run does.
type Tx interface {
	Reader
	Run(statements []Statement) ([]int64, error)
}

// TxOf returns the app's transaction.
func TxOf(app core.App) Tx { return appTx{Direct(app.NonconcurrentDB())} }

type appTx struct{ dbx.Executor }

// Run implements Tx.
func (tx appTx) Run(statements []Statement) ([]int64, error) { return run(tx.Executor, statements) }

// Run runs statements in the app's transaction and returns how many rows each of them changed.
func Run(tx core.App, statements []Statement) ([]int64, error) {
	return run(Direct(tx.NonconcurrentDB()), statements)
}

func run(tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, statements []Statement) ([]int64, error) {
	changed := make([]int64, len(statements))
	for i, s := range statements {
		result, err := tx.ExecContext(context.Background(), s.Text, s.Args...)
		if err != nil {
			failed := &StatementError{Err: err}
			errors.As(err, &failed)
			failed.Statement = i
			return nil, failed
		}
		if changed[i], err = result.RowsAffected(); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// Transact is PocketBase's RunInTransaction on behalf of an owner, which is the id of a tenant. A short
// transaction, which takes a few milliseconds at most, joins the open commit batch, whose writers wait for it. Any
// other transaction commits that batch first. If the batch fails because of another transaction, Transact calls do
// of a short one again.
//
// An error of do that rests on uncommitted writes of others is returned after their commit. The end of ctx ends that
// wait, and nothing else.
func Transact(ctx context.Context, app core.App, owner string, short bool, do func(tx core.App) error) error {
	if app.IsTransactional() {
		return do(app)
	}
	request := &lockRequest{owner: owner, short: short}
	err := transact(app, request, do)
	if request.mayHaveRead != nil {
		err = request.mayHaveRead.settle(ctx, err)
	}
	if short && mayRepeat(err) {
		err = transact(app, &lockRequest{owner: owner}, do)
	}
	return err
}

// awaitLock is the first statement of a transaction: it waits for the writer lock, and does nothing else. Its only
// argument is a lockRequest. Options go through an argument that the driver removes (see driver.ErrRemoveArgument),
// because PocketBase's RunInTransaction passes no context to it.
const awaitLock = "-- wait for the writer lock"

// transact is RunInTransaction with a lockRequest. PocketBase runs the hooks behind the writes of a transaction once it
// has ended. If one of them fails after the commit, transact logs that: with an error, the caller would write again.
func transact(app core.App, request *lockRequest, do func(tx core.App) error) error {
	isCommitted := false
	err := app.RunInTransaction(func(tx core.App) error {
		if _, err := Direct(tx.NonconcurrentDB()).Exec(awaitLock, request); err != nil {
			return err
		}
		if !app.IsTransactional() {
			tx.TxInfo().OnComplete(func(failure error) error {
				isCommitted = failure == nil
				return nil
			})
		}
		return do(tx)
	})
	if isCommitted && err != nil {
		app.Logger().Error("a hook failed after the write was committed", "error", err)
		return nil
	}
	return err
}

// TransactRecord runs the rest of a record's write, and the writes that belong to it, in one transaction, on behalf
// of the record's tenant, if it has one. Meanwhile the app of the event is that of the transaction. Afterwards it is
// the outer one again, which the after-success hooks expect.
func TransactRecord(e *core.RecordEvent, write func(tx core.App) error) error {
	return within(&e.App, e.Record.GetString("tenant"), write)
}

// TransactModel is TransactRecord for an event of a model, on behalf of an owner.
func TransactModel(e *core.ModelEvent, owner string, write func(tx core.App) error) error {
	return within(&e.App, owner, write)
}

// within calls write in a transaction of the app, which meanwhile is that of the transaction.
func within(app *core.App, owner string, write func(tx core.App) error) error {
	outer := *app
	defer func() { *app = outer }()
	return transact(outer, &lockRequest{owner: owner}, func(tx core.App) error {
		*app = tx
		return write(tx)
	})
}

// savepoint is the name of the savepoints, which may be nested.
const savepoint = "contactbase_part"

// Savepoint runs a part of the app's transaction. If the part returns an error, its writes are undone, and the
// transaction can continue.
func Savepoint(tx core.App, part func() error) error {
	db := Direct(tx.NonconcurrentDB())
	if _, err := db.Exec("SAVEPOINT " + savepoint); err != nil {
		return err
	}
	err := part()
	if err != nil {
		_, undoErr := db.Exec("ROLLBACK TO " + savepoint)
		if errors.Is(undoErr, ErrBatch) { // the batch has undone it
			return err
		}
		if undoErr != nil {
			return errors.Join(err, undoErr)
		}
	}
	if _, releaseErr := db.Exec("RELEASE " + savepoint); releaseErr != nil {
		return errors.Join(err, releaseErr)
	}
	return err
}

// Named returns the arguments of a statement with parameters such as :tenant. The statement need not use all of them.
// The driver looks each name up whenever the statement runs, so what runs thousands of times a second has numbers.
func Named(values map[string]any) []any {
	args := make([]any, 0, len(values))
	for name, value := range values {
		args = append(args, sql.Named(name, value))
	}
	return args
}

// List encodes values for json_each, so that one statement takes any number of them: strings, numbers,
// or lists of these.
func List[T any](values []T) string {
	if len(values) == 0 {
		return "[]" // json_each reads null as one value
	}
	encoded, err := json.Marshal(values)
	if err != nil {
		panic("sqlite: " + err.Error()) // unreachable with such values
	}
	return string(encoded)
}

// Exec runs a statement in the app's transaction, or as one, and returns how many rows it changed.
func Exec(app core.App, text string, args ...any) (int, error) {
	changed, err := Execute(app, Statement{Text: text, Args: args})
	if err != nil {
		return 0, err
	}
	return int(changed[0]), nil
}

// Execute runs statements as one transaction, and returns how many rows each of them changed.
func Execute(app core.App, statements ...Statement) ([]int64, error) {
	return Write(app, func(Reader) ([]Statement, error) { return statements, nil })
}
