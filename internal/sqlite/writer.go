package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"contactbase/internal/sqlite/physical"
)

// writeTimeout is how long a writer waits, from its arrival, for the writer lock and for other processes together.
const writeTimeout = 10 * time.Second

// busyInterval is how often a writer tries the lock of another process. SQLite's own busy handler ends up trying ten
// times a second, which misses the short pauses between the commit batches of a busy process.
const busyInterval = time.Millisecond

// ErrBusy is the error of a write that could not start within 10 seconds, because of other writers or another
// process. It wrote nothing. Its text avoids the words that make PocketBase retry again and again.
var ErrBusy = errors.New("the database accepted no write for 10 seconds")

var (
	errEnded      = errors.New("a statement ended a transaction that it did not begin")
	errRolledBack = errors.New("a write function failed after its first statement")
	errLeftOpen   = errors.New(
		"a statement left a transaction open, which was rolled back: begin transactions with RunInTransaction",
	)
)

// writer owns the one physical connection that the virtual connections share. The holder of the lock owns everything
// in it but the lock and the counters.
type writer struct {
	lock      writerLock
	connect   func() (*physical.Connection, error)
	folder    string // of the database
	relaxes   bool   // whether commits of derived writes do not wait for the disk
	functions *functionConn

	connection *physical.Connection // nil until it is needed
	relaxed    bool                 // whether its commits do not wait for the disk
	// whether the connection is replaced when the lock is released, because a transaction broke
	suspect   bool
	ended     bool      // whether SQLite has ended the transaction that was begun last
	committed bool      // whether it ended by a commit
	batch     *batch    // nil while no batch is open
	lockedAt  time.Time // when the holder got the lock

	lastOwner    string    // the last that wrote
	ownerChanged time.Time // when another one had written before it

	commits     atomic.Uint64                // commit batches
	writes      atomic.Uint64                // transactions and single writes in them
	lastCommit  atomic.Pointer[time.Time]    // nil before the first
	preCommit   atomic.Pointer[func() error] // the hook before each commit, nil for none
	times       times
	longestHold atomic.Int64 // in nanoseconds
	checkpoints checkpoints
}

func newWriter(folder string, connect func() (*physical.Connection, error)) (_ *writer, err error) {
	w := &writer{
		folder: folder, connect: connect, times: newTimes(), checkpoints: checkpoints{due: make(chan struct{}, 1)},
	}
	w.lock.waits = w.times.wait
	w.functions, err = newFunctionConn(w)
	return w, err
}

// acquire waits for the lock, which the caller releases by commitWithBatch or unlock.
func (w *writer) acquire(ctx context.Context, deadline time.Time, owner string) error {
	if err := w.lock.acquire(ctx, deadline, owner, nil, w.unlock); err != nil {
		return err
	}
	w.lockedAt = time.Now()
	return nil
}

// unlock hands the lock over to the next waiter that may join the open batch. If there is none, it
// commits the batch first.
func (w *writer) unlock() {
	lockedAt := w.lockedAt
	if w.batch != nil && !w.batch.full() && w.lock.handOver(w.batch) {
		w.recordHold(time.Since(lockedAt))
		return
	}
	w.commitOpen()
	w.recordHold(time.Since(lockedAt))
	if w.lock.release() {
		_ = w.end() // the pool is closed
	}
}

// measureHold ends the measurement of one write and begins that of the next, which the same goroutine runs.
func (w *writer) measureHold() {
	now := time.Now()
	w.recordHold(now.Sub(w.lockedAt))
	w.lockedAt = now
}

// open opens the connection if there is none.
func (w *writer) open() error {
	if w.connection != nil {
		return nil
	}
	c, err := w.connect()
	if err != nil {
		return err
	}
	if err := setBusyTimeout(c, 0); err != nil {
		return errors.Join(err, c.Close())
	}
	// The hooks show when SQLite ends a transaction, on request or on its own, for example when the disk is full.
	c.RegisterCommitHook(func() int32 {
		w.ended, w.committed = true, true
		return 0
	})
	c.RegisterRollbackHook(func() { w.ended, w.committed = true, false }) // also after a commit that fails
	w.connection, w.relaxed = c, false
	return nil
}

// discard closes the connection. It removes the hooks first: the driver keeps them by the address of the connection,
// which the next connection may get.
func (w *writer) discard() error {
	if w.connection == nil {
		return nil
	}
	c := w.connection
	w.connection, w.suspect = nil, false
	c.RegisterCommitHook(nil)
	c.RegisterRollbackHook(nil)
	return c.Close()
}

// write runs a statement that SQLite undoes if it fails, in a batch that others may join afterwards. If one of those
// makes the batch fail, the statement runs once more, in a batch of its own.
func (w *writer) write(ctx context.Context, run func(context.Context, *physical.Connection) error) error {
	deadline := time.Now().Add(writeTimeout)
	err := w.writeOnce(ctx, deadline, false, run)
	if mayRepeat(err) {
		err = w.writeOnce(ctx, deadline, true, run)
	}
	return err
}

func (w *writer) writeOnce(
	ctx context.Context, deadline time.Time, sealed bool, run func(context.Context, *physical.Connection) error,
) error {
	if err := w.acquire(ctx, deadline, ""); err != nil {
		return err
	}
	w.commitOpen() // others must not wait for a statement of unknown duration
	if err := w.begin(ctx, deadline, false); err != nil {
		w.unlock()
		return err
	}
	w.batch.sealed = sealed
	// Cancelling a statement in a transaction may roll back all of it, so a statement that runs is not cancelled.
	if err := w.check(w.batch, run(context.WithoutCancel(ctx), w.connection)); err != nil {
		w.unlock()
		return err
	}
	return w.commitWithBatch("")
}

// exclusive runs a statement outside of any transaction.
func (w *writer) exclusive(ctx context.Context, run func(context.Context, *physical.Connection) error) (err error) {
	deadline := time.Now().Add(writeTimeout)
	if err := w.acquire(ctx, deadline, ""); err != nil {
		return err
	}
	defer w.unlock()
	w.commitOpen()
	if err := w.open(); err != nil {
		return err
	}
	if err := w.relax(false); err != nil {
		return err
	}
	if err := setBusyTimeout(w.connection, max(0, time.Until(deadline))); err != nil {
		return err
	}
	err = run(ctx, w.connection)
	if isBusy(err) {
		err = ErrBusy
	}
	if w.control(rollbackBatch) == nil { // it fails if no transaction is open
		err = errors.Join(err, errLeftOpen)
	}
	return errors.Join(err, setBusyTimeout(w.connection, 0))
}

// close closes the connection, now or when the holder releases the lock.
func (w *writer) close() error {
	if !w.lock.close() {
		return nil
	}
	return w.end()
}

// end closes the connection for good, once a concurrent checkpoint has ended.
func (w *writer) end() error {
	w.checkpoints.Lock()
	defer w.checkpoints.Unlock()
	return errors.Join(w.functions.close(), w.checkpoints.close(), w.discard())
}

// control runs one of the statements that begin and end batches and savepoints.
func (w *writer) control(text string) error {
	_, err := w.connection.Exec(context.Background(), physical.Statement{Text: text, Kind: physical.Write}, nil)
	return err
}

func setBusyTimeout(c *physical.Connection, timeout time.Duration) error {
	_, err := c.ExecContext(context.Background(), fmt.Sprintf("PRAGMA busy_timeout(%d)", timeout.Milliseconds()), nil)
	return err
}

// isFull reports whether err means that the disk is full.
func isFull(err error) bool { return hasCode(err, sqlite3.SQLITE_FULL) }

// isBusy reports whether err means that another process has the lock.
func isBusy(err error) bool { return hasCode(err, sqlite3.SQLITE_BUSY) }

// isInWAL reports whether a commit failed only after it was in the WAL: while the WAL was synced or indexed.
func isInWAL(err error) bool {
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Code() {
	case sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC,
		sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP:
		return true
	default:
		return false
	}
}

// mayRepeat reports whether a write failed with its batch, and left nothing behind.
func mayRepeat(err error) bool { return errors.Is(err, ErrBatch) && !errors.Is(err, ErrUncertain) }

// hasCode reports whether err has that primary result code of SQLite.
func hasCode(err error, code int) bool {
	var failure *sqlite.Error
	return errors.As(err, &failure) && failure.Code()&0xff == code
}
