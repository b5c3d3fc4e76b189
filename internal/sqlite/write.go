package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite/physical"
)

// WriteFunc is the write function of a transaction. It reads and checks, and returns the statements to run. It may be
// called twice, and must not have other effects.
type WriteFunc func(Reader) ([]Statement, error)

// Write calls a write function and runs the statements that it returns, in one transaction. It returns how many rows
// each statement changed.
//
// An error that rests on uncommitted writes of others is returned after their commit. If that fails, fn runs again.
//
// The transaction needs no savepoint, which saves a quarter of the time of a small write: a write function returns
// its errors before anything is written, and SQLite undoes a first statement that fails. If a later statement or the
// commit fails, the other transactions of the commit batch run again.
//
// No goroutine needs to hold the transaction of a write function open. So the holder of the writer lock also runs the
// functions that wait behind its own, and wakes their callers only once, with the outcome.
//
// If the app is in a transaction, the write becomes a part of it.
func Write(app core.App, fn WriteFunc) ([]int64, error) {
	return WriteFor(context.Background(), app, "", fn)
}

// WriteFor is Write on behalf of an owner, which is the id of a tenant. Owners take turns. The end of ctx ends the
// wait for the commit of others, and nothing else.
func WriteFor(ctx context.Context, app core.App, owner string, fn WriteFunc) ([]int64, error) {
	switch db := app.NonconcurrentDB().(type) {
	case *dbx.DB:
		return writeAs(ctx, db.DB(), byFunction, owner, fn)
	case *dbx.Tx:
		statements, err := fn(ReaderOf(app))
		if err != nil {
			return nil, err
		}
		return Run(app, statements)
	default:
		return nil, errClosed
	}
}

// WriteDerived is Write for what the program would write again, from what is durable, if a power cut took it. Its
// commit does not wait for the disk, unless it is also that of other writes, or the durability is Strict.
func WriteDerived(app core.App, fn WriteFunc) ([]int64, error) {
	if db, ok := app.NonconcurrentDB().(*dbx.DB); ok {
		return writeAs(context.Background(), db.DB(), byDerivation, "", fn)
	}
	return Write(app, fn)
}

// Through is WriteFor for a function that runs its statements itself, so that it can continue if SQLite
// refuses the first one. It returns its other errors before it writes anything: one that comes later makes the
// whole batch run again.
func Through(ctx context.Context, app core.App, owner string, fn func(tx Tx) error) error {
	_, err := WriteFor(ctx, app, owner, through(app, fn))
	return err
}

func through(app core.App, fn func(tx Tx) error) WriteFunc {
	return func(tx Reader) ([]Statement, error) {
		if function, ok := tx.(*functionTx); ok {
			return nil, fn(function)
		}
		return nil, fn(TxOf(app))
	}
}

func writeAs(ctx context.Context, db *sql.DB, mode mode, owner string, fn WriteFunc) ([]int64, error) {
	w := poolWriter(db)
	if w == nil {
		return nil, errors.New("write functions need the writing pool of data.db")
	}
	f := w.writeFunction(mode, owner, fn)
	if f.mayHaveRead != nil {
		f.err = f.mayHaveRead.settle(ctx, f.err)
	}
	if mayRepeat(f.err) {
		f = w.writeFunction(byFunctionAlone, owner, fn)
	}
	if f.panicked != nil {
		panic(f.panicked)
	}
	return f.changed, f.err
}

// mode is how a transaction writes.
type mode int

const (
	byStatement     mode = iota // statement by statement; it may roll back at any point
	byFunction                  // by a write function
	byDerivation                // by a write function of derived writes
	byFunctionAlone             // by a write function, again and in a batch of its own, because the first batch failed
)

// functionWrite is a write by a function: waiting, running or finished.
type functionWrite struct {
	mode     mode
	fn       WriteFunc
	deadline time.Time

	batch       *batch // that commits it, nil if there is nothing to commit
	mayHaveRead *batch // with writes of others, before the function failed; nil for none
	changed     []int64
	err         error
	panicked    any // the panic of fn with its stack; nil for none
}

// writeFunction runs a write function, or waits until the holder of the lock has run it.
func (w *writer) writeFunction(mode mode, owner string, fn WriteFunc) *functionWrite {
	f := &functionWrite{mode: mode, fn: fn, deadline: time.Now().Add(writeTimeout)}
	err := w.lock.acquire(context.Background(), f.deadline, owner, f, w.unlock)
	if err != nil {
		if !errors.Is(err, errRunByHolder) {
			f.err = err
		}
		return f
	}
	w.lockedAt = time.Now()
	w.run(f)
	if f.batch == nil {
		w.unlock()
		return f
	}
	f.err = w.commitWithBatch(owner)
	return f
}

// runWaiting runs the write functions whose turn it is, as transactions of the open batch. The caller holds the lock
// and waits for that batch.
func (w *writer) runWaiting() {
	for w.batch != nil && !w.batch.full() {
		next := w.lock.takeWrite(w.batch)
		if next == nil {
			return
		}
		w.measureHold()
		f := next.write
		w.run(f)
		if f.batch == nil {
			next.granted <- errRunByHolder
			continue
		}
		w.add(next.owner)
		f.batch.waiters = append(f.batch.waiters, next)
	}
}

// run runs a write function. The caller holds the lock.
func (w *writer) run(f *functionWrite) {
	tx := &transaction{
		lockRequest: &lockRequest{}, connection: w.functions.virtual,
		locked: true, deadline: f.deadline, mode: f.mode,
	}
	w.functions.virtual.tx = tx
	kept := false
	defer func() {
		if kept {
			return
		}
		if reason := recover(); reason != nil {
			f.panicked = fmt.Sprintf("%v\n\n%s", reason, debug.Stack()) // the caller's stack does not have it
		}
		if err := tx.undo(); err != nil && f.err == nil {
			f.err = err
		}
	}()
	reader := &functionTx{conn: w.functions.conn}
	if f.mode != byFunctionAlone && w.batch != nil {
		reader.cached = w.batch.cache
	}
	statements, err := reader.call(f.fn)
	if err == nil {
		f.changed, err = run(w.functions.conn, statements)
	}
	if f.err = err; err != nil {
		f.mayHaveRead = tx.sharedBatch()
		return
	}
	kept = true
	if f.err = tx.keep(); f.err == nil {
		f.batch = tx.batch
	}
	if f.err == nil && tx.written {
		tx.batch.cache = reader.next
	}
}

// functionConn is the virtual connection of write functions, which the holder of the lock owns. It does not use
// transactions of database/sql, which start a goroutine for each transaction and each query.
type functionConn struct {
	virtual *virtual
	pool    *sql.DB
	conn    *sql.Conn
}

// newFunctionConn returns the connection for the write functions of a writer. It does not open the database.
func newFunctionConn(w *writer) (*functionConn, error) {
	c := &functionConn{virtual: &virtual{writer: w}}
	c.pool = sql.OpenDB(c)
	var err error
	c.conn, err = c.pool.Conn(context.Background())
	return c, err
}

// Connect implements driver.Connector.
func (c *functionConn) Connect(context.Context) (driver.Conn, error) { return c.virtual, nil }

// Driver implements driver.Connector. Nothing calls it.
func (c *functionConn) Driver() driver.Driver { return nil }

func (c *functionConn) close() error { return errors.Join(c.conn.Close(), c.pool.Close()) }

// functionTx is the transaction of a write function, which reads, and with Through also writes. It refuses a query that
// writes.
type functionTx struct {
	conn   *sql.Conn
	opened []*sql.Rows
	cached []any // by the previous write function
	next   []any // for the next write function
}

// call calls fn and closes the rows that it left open.
func (r *functionTx) call(fn WriteFunc) ([]Statement, error) {
	defer func() {
		for _, rows := range r.opened {
			_ = rows.Close() // the function needs no more rows
		}
	}()
	return fn(r)
}

// Query implements Reader.
func (r *functionTx) Query(query string, args ...any) (*sql.Rows, error) {
	if physical.Parse(query).Kind != physical.Read {
		return nil, fmt.Errorf("a write function reads before it writes: %s", query)
	}
	rows, err := r.conn.QueryContext(context.Background(), query, args...)
	if err == nil {
		r.opened = append(r.opened, rows)
	}
	return rows, err
}

// Run implements Tx.
func (r *functionTx) Run(statements []Statement) ([]int64, error) { return run(r.conn, statements) }
