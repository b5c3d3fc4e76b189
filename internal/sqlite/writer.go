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

// patience is how long a writer waits, from its arrival, for its turn and for other processes together.
const patience = 10 * time.Second

// busyInterval is how often the lock of another process is tried. SQLite's own waiting ends up asking ten times a
// second, which never meets the short moment between two groups of a busy process.
const busyInterval = time.Millisecond

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
// cause, which is mostly another member's.
var ErrGroup = errors.New("the transactions that were to be committed together failed")

// ErrBusy is the error of a write that did not get to run within 10 seconds, because of others before it or of another
// process: nothing of it is in the database. Its text avoids the words by which PocketBase would try again and again.
var ErrBusy = errors.New("the database took no write for 10 seconds")

var (
	errEnded      = errors.New("a statement ended a transaction that it did not begin")
	errRolledBack = errors.New("a planned write failed after its first statement")
	errLeftOpen   = errors.New("a statement left a transaction open, which was rolled back: begin transactions by the functions for it")
)

// writer is the physical connection that virtual ones share. Except for turns and the counters, all of it belongs to
// who has the turn.
type writer struct {
	turns   turns
	connect func() (*connection, error)
	folder  string // of the database
	planner *planner

	connection *connection // nil until it is needed
	suspect    bool        // whether the connection is replaced at the end of the turn, because a transaction broke
	ended      bool        // whether SQLite has ended the transaction that was begun last
	kept       bool        // whether it ended it by a commit
	group      *group      // nil while no outer transaction is open
	began      time.Time   // of the present turn

	writes      atomic.Uint64
	committed   atomic.Pointer[time.Time]    // when the last commit was; nil before the first
	guard       atomic.Pointer[func() error] // asked before each commit; nil for nobody
	turnTimes   lengths
	commitTimes lengths
	checkpoints checkpoints
}

// group is the writes of one outer transaction.
type group struct {
	began  time.Time
	writes int
	sealed bool          // whether nobody else may join
	done   chan struct{} // closed once err is the outcome for all
	served []*place      // the plans in it whose makers wait for nothing else
	handed []any         // by the last member, if that was a plan
	err    error
	broken error // for whose turn it was when the group ended before its time, nil otherwise
}

func newWriter(folder string, connect func() (*connection, error)) (_ *writer, err error) {
	w := &writer{folder: folder, connect: connect, checkpoints: checkpoints{long: make(chan struct{}, 1)}}
	w.planner, err = newPlanner(w)
	return w, err
}

// take waits for a turn, which the caller ends by join or leave.
func (w *writer) take(ctx context.Context, deadline time.Time) error {
	if err := w.turns.wait(ctx, deadline, nil, w.leave); err != nil {
		return err
	}
	w.began = time.Now()
	return nil
}

// begin opens the outer transaction, once no other process writes.
func (w *writer) begin(ctx context.Context, deadline time.Time) error {
	if w.group != nil {
		return nil
	}
	if err := w.open(); err != nil {
		return err
	}
	for {
		err := w.control(beginGroup)
		if err == nil {
			break
		}
		if !isBusy(err) {
			return err
		}
		if time.Now().After(deadline) {
			return ErrBusy
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(busyInterval):
		}
	}
	w.ended, w.kept = false, false
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
		w.ended, w.kept = true, true
		return 0
	})
	c.RegisterRollbackHook(func() { w.ended, w.kept = true, false }) // also for a commit that fails
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
		return g.broken
	}
	if !w.ended {
		return err
	}
	if err != nil {
		w.lose(err)
		return err
	}
	w.lose(errEnded)
	return g.broken
}

// lose gives the open group up. A statement that committed it has done so for those who had joined it.
func (w *writer) lose(cause error) {
	g, joined := w.group, error(nil)
	g.broken = fmt.Errorf("%w: %w", ErrGroup, cause)
	if isFull(cause) {
		w.checkpoints.full = true
	}
	if !w.kept {
		joined = g.broken
	}
	_ = w.control(rollbackGroup) // mostly SQLite has done so
	w.suspect = true
	w.finish(joined)
}

// join ends the turn of a caller whose work is part of the open group, and returns the outcome of the group.
func (w *writer) join() error {
	g := w.group
	g.writes++
	w.combine()
	w.leave()
	<-g.done
	return g.err
}

// leave ends a turn. If nobody waits for the next one, the group is committed first.
func (w *writer) leave() {
	began := w.began
	if w.group != nil && !w.group.full() && w.turns.pass() {
		w.turnTimes.add(time.Since(began))
		return
	}
	w.settle()
	w.turnTimes.add(time.Since(began))
	if w.turns.end() {
		_ = w.end() // the pool is closed
	}
}

// endTurn notes that a turn has ended and the next one, of the same goroutine, begins.
func (w *writer) endTurn() {
	now := time.Now()
	w.turnTimes.add(now.Sub(w.began))
	w.began = now
}

func (g *group) full() bool {
	return g.sealed || g.writes >= maxGroupWrites || time.Since(g.began) >= maxGroupAge
}

// settle commits the open group, if any, and lets go of a connection on which a transaction broke.
func (w *writer) settle() {
	w.commit()
	if w.suspect {
		_ = w.discard() // what it could tell was told to the group
		if w.checkpoints.full {
			w.relieve()
		}
	}
}

// rollback takes back the open group, because a member without a savepoint failed.
func (w *writer) rollback() error {
	if w.group.writes > 0 { // of others
		w.lose(errRolledBack)
		return nil
	}
	err := w.control(rollbackGroup)
	if err != nil {
		w.suspect = true
	}
	w.finish(nil)
	return err
}

// commit ends the open group, if any.
func (w *writer) commit() {
	if w.group == nil {
		return
	}
	if w.group.writes == 0 {
		_ = w.rollback()
		return
	}
	if guard := w.guard.Load(); guard != nil {
		if err := (*guard)(); err != nil {
			w.lose(err)
			return
		}
	}
	began := time.Now()
	if err := w.control(commitGroup); err != nil {
		w.lose(err)
		return
	}
	now := time.Now()
	w.committed.Store(&now)
	w.commitTimes.add(now.Sub(began))
	w.writes.Add(uint64(w.group.writes))
	w.finish(nil)
	w.watchLog()
}

// finish tells the outcome to all members of the open group.
func (w *writer) finish(err error) {
	g := w.group
	w.group = nil
	g.err = err
	close(g.done)
	for _, place := range g.served {
		place.plan.err = err
		place.turn <- errServed
	}
}

// write runs a statement that undoes itself where it fails, in a transaction that others may join afterwards. Where one of
// those takes it down, it runs once more, alone.
func (w *writer) write(ctx context.Context, run func(context.Context, *connection) error) error {
	deadline := time.Now().Add(patience)
	err := w.writeOnce(ctx, deadline, false, run)
	if errors.Is(err, ErrGroup) {
		err = w.writeOnce(ctx, deadline, true, run)
	}
	return err
}

func (w *writer) writeOnce(ctx context.Context, deadline time.Time, sealed bool, run func(context.Context, *connection) error) error {
	if err := w.take(ctx, deadline); err != nil {
		return err
	}
	w.settle() // nobody's answer waits for a turn of unknown length
	if err := w.begin(ctx, deadline); err != nil {
		w.leave()
		return err
	}
	w.group.sealed = sealed
	// Cancelling a statement in a transaction may roll the whole of it back, so it is not cancelled once it runs.
	if err := w.check(w.group, run(context.WithoutCancel(ctx), w.connection)); err != nil {
		w.leave()
		return err
	}
	return w.join()
}

// alone runs a statement outside of any transaction.
func (w *writer) alone(ctx context.Context, run func(context.Context, *connection) error) (err error) {
	deadline := time.Now().Add(patience)
	if err := w.take(ctx, deadline); err != nil {
		return err
	}
	defer w.leave()
	w.settle()
	if err := w.open(); err != nil {
		return err
	}
	if err := setBusyTimeout(w.connection, max(0, time.Until(deadline))); err != nil {
		return err
	}
	err = run(ctx, w.connection)
	if isBusy(err) {
		err = ErrBusy
	}
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
	return w.end()
}

// end closes the connection for good, once nobody moves the log beside it.
func (w *writer) end() error {
	w.checkpoints.Lock()
	defer w.checkpoints.Unlock()
	return errors.Join(w.planner.close(), w.checkpoints.close(), w.discard())
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

// isFull tells whether the disk has no room.
func isFull(err error) bool {
	var failure *sqlite.Error
	return errors.As(err, &failure) && failure.Code()&0xff == sqlite3.SQLITE_FULL
}

func isBusy(err error) bool {
	var failure *sqlite.Error
	return errors.As(err, &failure) && failure.Code()&0xff == sqlite3.SQLITE_BUSY
}
