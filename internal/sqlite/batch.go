package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A batch is committed once it has this many writes or reaches this age, even if other writers wait.
const (
	maxBatchWrites = 128
	maxBatchAge    = 10 * time.Millisecond
)

// An owner (a tenant) gets at most this many writes in a batch while another owner writes. Later writers wait for
// the batch and its commit, which take longer the more writes there are. An owner that writes alone has only the
// limits of the batch.
const (
	maxShare       = 4 // while another owner waits, or is in the batch
	maxRecentShare = 8 // while another owner has written recently
	recently       = 100 * time.Millisecond
)

// The statements that begin and end batches and the savepoints in them.
const (
	beginBatch          = "BEGIN IMMEDIATE"
	commitBatch         = "COMMIT"
	rollbackBatch       = "ROLLBACK"
	beginSavepoint      = "SAVEPOINT contactbase_transaction"
	releaseSavepoint    = "RELEASE contactbase_transaction"
	rollbackToSavepoint = "ROLLBACK TO contactbase_transaction"
)

// ErrBatch is the error of a write whose commit batch failed: nothing of it is in the database. It wraps the cause,
// usually the error of another transaction.
var ErrBatch = errors.New("the commit batch failed")

// ErrUncertain is the error of a write whose commit failed after all of it was in the WAL, which could not be synced
// or indexed. The database does not show the write, but would if it were opened again, for example after a kill,
// before the next commit overwrites it.
var ErrUncertain = errors.New("it is unknown whether the commit is durable")

// batch is the transactions that share one commit: one transaction of SQLite.
type batch struct {
	began   time.Time
	writes  int
	owners  map[string]int // their writes; without those that nobody owns
	recent  bool           // whether two owners have written recently
	sealed  bool           // whether no other transaction may join
	done    chan struct{}  // closed once err is the outcome for all
	waiters []*waiter      // whose write functions are in it
	cache   []any          // what the last write function has cached; nil after another transaction
	err     error
	broken  error // for the holder of the lock if the batch ended early, nil otherwise
}

func (b *batch) full() bool {
	return b.sealed || b.writes >= maxBatchWrites || time.Since(b.began) >= maxBatchAge
}

// admits reports whether the owner may add a write, given whether another one waits. Writes that nobody owns are few.
func (b *batch) admits(owner string, othersWait bool) bool {
	switch {
	case owner == "":
		return true
	case othersWait || len(b.owners) > 1:
		return b.owners[owner] < maxShare
	case b.recent:
		return b.owners[owner] < maxRecentShare
	default:
		return true
	}
}

// add counts a write in the open batch.
func (w *writer) add(owner string) {
	w.batch.writes++
	if owner == "" {
		return
	}
	w.batch.owners[owner]++
	if owner != w.lastOwner {
		w.lastOwner, w.ownerChanged = owner, time.Now()
	}
}

// begin opens a batch, unless one is open, as soon as no other process writes. One of derived writes is for these
// alone.
func (w *writer) begin(ctx context.Context, deadline time.Time, derived bool) error {
	if w.batch != nil {
		return nil
	}
	if err := w.open(); err != nil {
		return err
	}
	relaxed := derived && w.relaxes
	if err := w.relax(relaxed); err != nil {
		return err
	}
	for {
		err := w.control(beginBatch)
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
	w.ended, w.committed = false, false
	now := time.Now()
	w.batch = &batch{
		began: now, owners: map[string]int{}, recent: now.Sub(w.ownerChanged) < recently, done: make(chan struct{}),
		sealed: relaxed, // other writes need a commit that waits
	}
	return nil
}

// relax sets whether the next commits do not wait for the disk. SQLite allows it only between transactions.
func (w *writer) relax(relaxed bool) error {
	if w.relaxed == relaxed {
		return nil
	}
	text := "PRAGMA synchronous = FULL"
	if relaxed {
		text = "PRAGMA synchronous = NORMAL"
	}
	err := w.control(text)
	if err == nil {
		w.relaxed = relaxed
	}
	return err
}

// settle returns err, which rests on writes in the batch, once these are committed. It returns the error of the batch
// if they are not, and that of ctx if that ends first. The caller does not hold the lock.
func (b *batch) settle(ctx context.Context, err error) error {
	select {
	case <-b.done:
		if b.err != nil {
			return b.err
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the commit of the writes that it found: %w", ctx.Err())
	}
}

// check handles a statement that has ended the batch. It returns the error of the statement, or that of the batch if
// the batch has ended.
func (w *writer) check(b *batch, err error) error {
	if w.batch != b { // the batch failed before
		return b.broken
	}
	if !w.ended {
		return err
	}
	if err != nil {
		w.abort(err)
		return err
	}
	w.abort(errEnded)
	return b.broken
}

// abort rolls the open batch back. If a statement has committed it, the transactions in it succeed.
func (w *writer) abort(cause error) {
	b, outcome := w.batch, error(nil)
	b.broken = fmt.Errorf("%w: %w", ErrBatch, cause)
	if isFull(cause) {
		w.checkpoints.full = true
	}
	if !w.committed {
		outcome = b.broken
	}
	_ = w.control(rollbackBatch) // usually SQLite has rolled back already
	w.suspect = true
	w.finish(outcome)
}

// commitWithBatch releases the lock of a caller whose work is in the open batch, and returns the outcome of the batch.
func (w *writer) commitWithBatch(owner string) error {
	b := w.batch
	w.add(owner)
	w.runWaiting()
	w.unlock()
	<-b.done
	return b.err
}

// commitOpen commits the open batch, if any, and discards a connection on which a transaction broke.
func (w *writer) commitOpen() {
	w.commit()
	if w.suspect {
		_ = w.discard() // the batch has the error
		if w.checkpoints.full {
			w.checkpointFullDisk()
		}
	}
}

// rollback undoes the open batch, because a transaction without a savepoint failed.
func (w *writer) rollback() error {
	if w.batch.writes > 0 { // of other transactions
		w.abort(errRolledBack)
		return nil
	}
	err := w.control(rollbackBatch)
	if err != nil {
		w.suspect = true
	}
	w.finish(nil)
	return err
}

// commit commits the open batch, if any.
func (w *writer) commit() {
	if w.batch == nil {
		return
	}
	if w.batch.writes == 0 {
		_ = w.rollback()
		return
	}
	if hook := w.preCommit.Load(); hook != nil {
		if err := (*hook)(); err != nil {
			w.abort(err)
			return
		}
	}
	began := time.Now()
	if err := w.control(commitBatch); err != nil {
		if isInWAL(err) {
			err = fmt.Errorf("%w: %w", ErrUncertain, err)
		}
		w.abort(err)
		return
	}
	now := time.Now()
	w.lastCommit.Store(&now)
	w.times.commit.Observe(now.Sub(began).Seconds())
	w.commits.Add(1)
	w.writes.Add(uint64(w.batch.writes))
	w.finish(nil)
	w.checkWAL()
}

// finish closes the open batch and reports the outcome to all transactions in it.
func (w *writer) finish(err error) {
	b := w.batch
	w.batch = nil
	b.err = err
	close(b.done)
	for _, waiter := range b.waiters {
		waiter.write.err = err
		waiter.granted <- errRunByHolder
	}
}

// CacheInBatch caches a value for the next write function of the same batch, which saves a tenth of the time of a
// create. The value must be valid after the statements of this write function. The next transaction empties the
// cache, unless it is a write function that caches values itself. Outside write functions, CacheInBatch does nothing.
func CacheInBatch[T any](tx Reader, value T) {
	if r, ok := tx.(*functionTx); ok {
		r.next = append(r.next, value)
	}
}

// CachedInBatch returns the value of type T that the previous write function has cached, and whether there is one.
func CachedInBatch[T any](tx Reader) (value T, ok bool) {
	if r, isFunction := tx.(*functionTx); isFunction {
		for _, cached := range r.cached {
			if value, ok = cached.(T); ok {
				return value, true
			}
		}
	}
	return value, false
}
