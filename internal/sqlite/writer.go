package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A group is committed at the latest when it has so many writes or is so old, though others wait for their turn.
const (
	maxGroupWrites = 128
	maxGroupAge    = 10 * time.Millisecond
)

// Other processes write to the same file. SQLite's own waiting ends up asking ten times a second, which never meets
// the short moment between two groups of a busy process; this asks more often.
const (
	busyPatience = 10 * time.Second
	busyInterval = time.Millisecond
)

// The statements that hold a group together.
const (
	beginGroup     = "BEGIN IMMEDIATE"
	commitGroup    = "COMMIT"
	rollbackGroup  = "ROLLBACK"
	beginMember    = "SAVEPOINT contactbase_member"
	commitMember   = "RELEASE contactbase_member"
	rollbackMember = "ROLLBACK TO contactbase_member"
)

// ErrGroup is the error of a write whose group could not be committed: nothing of it is in the database. It wraps the
// cause.
var ErrGroup = errors.New("the transactions that were to be committed together failed")

var (
	errEnded      = errors.New("a statement ended a transaction that it did not begin")
	errRolledBack = errors.New("a transaction that was expected to commit was rolled back")
	errLeftOpen   = errors.New("a statement left a transaction open, which was rolled back: begin transactions by the functions for it")
)

// writer is the physical connection that virtual ones share. Except for turns and the counters, all of it belongs to
// who has the turn.
type writer struct {
	turns   turns
	connect func() (*connection, error)

	connection *connection // nil until it is needed
	suspect    bool        // whether the connection is replaced at the end of the turn, because a transaction broke
	ended      bool        // whether SQLite has ended the transaction that was begun last
	group      *group      // nil while no outer transaction is open

	commits, writes atomic.Uint64
}

// group is the writes of one outer transaction.
type group struct {
	began  time.Time
	writes int
	done   chan struct{} // closed once err is the outcome for all
	err    error
}

func newWriter(connect func() (*connection, error)) *writer {
	return &writer{connect: connect}
}

// enter waits for a turn and makes sure that an outer transaction is open. Without an error the caller has the turn
// and ends it by join or leave.
func (w *writer) enter(ctx context.Context) error {
	if err := w.turns.wait(ctx, w.leave); err != nil {
		return err
	}
	if err := w.begin(ctx); err != nil {
		w.leave()
		return err
	}
	return nil
}

// begin opens the outer transaction, once no other process writes.
func (w *writer) begin(ctx context.Context) error {
	if w.group != nil {
		return nil
	}
	if err := w.open(); err != nil {
		return err
	}
	began := time.Now()
	for {
		err := w.control(beginGroup)
		if err == nil {
			break
		}
		if !isBusy(err) || time.Since(began) > busyPatience {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(busyInterval):
		}
	}
	w.ended = false
	w.group = &group{began: time.Now(), done: make(chan struct{})}
	return nil
}

// open makes the connection where there is none.
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
	// These tell when SQLite ends a transaction, asked or by itself, such as on a full disk.
	c.RegisterCommitHook(func() int32 {
		w.ended = true
		return 0
	})
	c.RegisterRollbackHook(func() { w.ended = true })
	w.connection = c
	return nil
}

// discard closes the connection. The hooks go first: the driver keeps them by the address of the connection, which
// the next one may get.
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

// check looks whether the outer transaction outlived a statement, and returns the error of the statement or of the
// group that was lost with it.
func (w *writer) check(g *group, err error) error {
	if w.group != g { // lost before
		return g.err
	}
	if !w.ended {
		return err
	}
	if err == nil {
		w.lose(errEnded)
		return g.err
	}
	w.lose(err)
	return err
}

// lose gives the open group up.
func (w *writer) lose(cause error) {
	_ = w.control(rollbackGroup) // mostly SQLite has done so
	w.suspect = true
	w.finish(fmt.Errorf("%w: %w", ErrGroup, cause))
}

// join ends the turn of a caller whose work is part of the open group, and returns the outcome of the group.
func (w *writer) join() error {
	g := w.group
	g.writes++
	w.leave()
	<-g.done
	return g.err
}

// leave ends a turn. If nobody waits for the next one, the group is committed first.
func (w *writer) leave() {
	if w.group != nil && !w.group.full() && w.turns.pass() {
		return
	}
	w.commit()
	if w.suspect {
		_ = w.discard() // what it could tell was told to the group
	}
	if w.turns.end() {
		_ = w.discard() // the pool is closed
	}
}

func (g *group) full() bool { return g.writes >= maxGroupWrites || time.Since(g.began) >= maxGroupAge }

// commit ends the open group, if any.
func (w *writer) commit() {
	if w.group == nil {
		return
	}
	if w.group.writes == 0 {
		if err := w.control(rollbackGroup); err != nil {
			w.suspect = true
		}
		w.finish(nil)
		return
	}
	if err := w.control(commitGroup); err != nil {
		w.lose(err)
		return
	}
	w.commits.Add(1)
	w.writes.Add(uint64(w.group.writes))
	w.finish(nil)
}

// finish tells the outcome to all members of the open group.
func (w *writer) finish(err error) {
	w.group.err = err
	close(w.group.done)
	w.group = nil
}

// write runs a statement that undoes itself where it fails, as one member of the group.
func (w *writer) write(ctx context.Context, run func(context.Context, *connection) error) error {
	if err := w.enter(ctx); err != nil {
		return err
	}
	// Cancelling a statement in a transaction may roll the whole of it back, so it is not cancelled once it runs.
	if err := w.check(w.group, run(context.WithoutCancel(ctx), w.connection)); err != nil {
		w.leave()
		return err
	}
	return w.join()
}

// alone runs a statement outside of any transaction.
func (w *writer) alone(ctx context.Context, run func(context.Context, *connection) error) (err error) {
	if err := w.turns.wait(ctx, w.leave); err != nil {
		return err
	}
	defer w.leave()
	w.commit()
	if err := w.open(); err != nil {
		return err
	}
	if err := setBusyTimeout(w.connection, busyPatience); err != nil {
		return err
	}
	err = run(ctx, w.connection)
	if w.control(rollbackGroup) == nil { // which fails where no transaction is open
		err = errors.Join(err, errLeftOpen)
	}
	return errors.Join(err, setBusyTimeout(w.connection, 0))
}

// close ends the use of the connection, at once or at the end of the turn that somebody has.
func (w *writer) close() error {
	if !w.turns.close() {
		return nil
	}
	return w.discard()
}

// control runs one of the statements that hold a group together.
func (w *writer) control(text string) error {
	_, err := w.connection.execPrepared(context.Background(), text, nil)
	return err
}

func setBusyTimeout(c *connection, patience time.Duration) error {
	_, err := c.ExecContext(context.Background(), fmt.Sprintf("PRAGMA busy_timeout(%d)", patience.Milliseconds()), nil)
	return err
}

func isBusy(err error) bool {
	var failure *sqlite.Error
	return errors.As(err, &failure) && failure.Code()&0xff == sqlite3.SQLITE_BUSY
}
