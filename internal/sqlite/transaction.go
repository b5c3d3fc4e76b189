package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"contactbase/internal/sqlite/physical"
)

// transaction is a transaction in a commit batch. It holds the writer lock from its first statement to its end: only
// that can name its owner. With it, the transaction of a write function or a short one joins the open batch, and any
// other one begins a batch of its own.
//
// A savepoint makes SQLite keep a copy of every page, which takes a quarter of the time of a small write and half of
// that of a large one. So the first transaction of a batch has none: undoing it rolls back the batch. A later one
// gets a savepoint before its first write. A write function has none: it fails before its first write, or with it.
type transaction struct {
	*lockRequest
	connection *virtual
	locked     bool      // whether it holds the writer lock
	refused    error     // why it does not get the lock
	deadline   time.Time // for the lock and for opening a batch
	mode       mode
	batch      *batch // nil before the first statement
	saved      bool   // whether it has a savepoint
	written    bool   // whether there is something to undo
}

// lockRequest has the options of a transaction. It is the argument of awaitLock.
type lockRequest struct {
	owner string // on whose behalf the transaction writes; "" for the program itself
	short bool   // whether it shares a batch; see Transact

	mayHaveRead *batch // with writes of others, before the transaction was rolled back; nil for none
}

// lock waits for the writer lock, unless the transaction has it.
func (tx *transaction) lock(ctx context.Context) error {
	if tx.locked || tx.refused != nil {
		return tx.refused
	}
	w := tx.connection.writer
	tx.deadline = time.Now().Add(writeTimeout)
	if tx.refused = w.acquire(ctx, tx.deadline, tx.owner); tx.refused != nil {
		return tx.refused
	}
	if tx.refused = w.open(); tx.refused != nil {
		w.unlock()
		return tx.refused
	}
	tx.locked = true
	return nil
}

// join puts the transaction into a batch.
func (tx *transaction) join(ctx context.Context) error {
	w := tx.connection.writer
	if !tx.short && tx.mode != byFunction && tx.mode != byDerivation {
		w.commitOpen() // others must not wait for a transaction of unknown duration
	}
	if err := w.begin(ctx, tx.deadline, tx.mode == byDerivation); err != nil {
		return err
	}
	tx.batch = w.batch
	if tx.mode == byFunctionAlone {
		tx.batch.sealed = true
	}
	return nil
}

// run runs a statement in the transaction.
func (tx *transaction) run(
	ctx context.Context, s physical.Statement, run func(context.Context, *physical.Connection) error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := tx.lock(ctx); err != nil {
		return err
	}
	if tx.batch == nil {
		if err := tx.join(ctx); err != nil {
			return err
		}
	}
	w := tx.connection.writer
	if err := w.check(tx.batch, nil); err != nil {
		return err
	}
	if err := tx.prepare(s); err != nil {
		return err
	}
	// Cancelling a statement may roll back the work of others, so a statement that runs is not cancelled.
	err := w.check(tx.batch, run(context.WithoutCancel(ctx), w.connection))
	if s.Kind == physical.Other || s.Kind != physical.Read && err == nil { // SQLite undoes a single statement that fails
		tx.written = true
	}
	return err
}

// prepare refuses statements that a write function may not run, and begins the savepoint before the first
// statement that may write.
func (tx *transaction) prepare(s physical.Statement) error {
	if tx.mode != byStatement {
		if s.Kind != physical.Read && s.Kind != physical.Write {
			return fmt.Errorf("a write function may only read and write rows, not run %s", s.Text)
		}
		return nil
	}
	if s.Kind == physical.Read {
		return nil
	}
	tx.batch.cache = nil
	if tx.saved || tx.batch.writes == 0 {
		return nil
	}
	w := tx.connection.writer
	if err := w.check(tx.batch, w.control(beginSavepoint)); err != nil {
		return err
	}
	tx.saved = true
	return nil
}

// Commit implements driver.Tx.
func (tx *transaction) Commit() error {
	w := tx.connection.writer
	err := tx.keep()
	if !tx.locked {
		return tx.refused
	}
	if err != nil || tx.batch == nil {
		w.unlock()
		return err
	}
	return w.commitWithBatch(tx.owner)
}

// Rollback implements driver.Tx. It waits for no commit: Transact does.
func (tx *transaction) Rollback() error {
	tx.mayHaveRead = tx.sharedBatch()
	err := tx.undo()
	if tx.locked {
		tx.connection.writer.unlock()
	}
	return err
}

// sharedBatch returns the batch if it has writes of others, which the transaction may have read, and nil otherwise.
func (tx *transaction) sharedBatch() *batch {
	if tx.batch == nil || tx.batch.writes == 0 {
		return nil
	}
	return tx.batch
}

// keep keeps the writes in the batch.
func (tx *transaction) keep() error {
	if tx.saved {
		return tx.end(releaseSavepoint)
	}
	return tx.end()
}

// undo undoes the writes.
func (tx *transaction) undo() error {
	var statements []string
	if tx.saved {
		statements = []string{rollbackToSavepoint, releaseSavepoint}
	}
	err := tx.end(statements...)
	if err == nil && tx.written && !tx.saved {
		err = tx.connection.writer.rollback()
	}
	if errors.Is(err, ErrBatch) {
		return nil // the batch has undone it
	}
	return err
}

// end runs statements that end the savepoint. If one fails, the content of the batch is unknown, and end aborts it.
func (tx *transaction) end(statements ...string) error {
	tx.connection.tx = nil
	w := tx.connection.writer
	if tx.batch == nil {
		return nil
	}
	if err := w.check(tx.batch, nil); err != nil {
		return err
	}
	for _, text := range statements {
		if err := w.control(text); err != nil {
			w.abort(err)
			return tx.batch.broken
		}
	}
	return nil
}
