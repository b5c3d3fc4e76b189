package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// All in pages of the log.
const (
	// checkpointPages is how much the log grows until it is moved into the file, 64 MiB: pages of indexes that many rows
	// touch are moved once for all of them, and commits are slow while the disk takes them.
	checkpointPages = 16_000

	// handOverPages is how long the log is when somebody else is told to move it, 16 MiB: all writers wait meanwhile.
	handOverPages = 4_000

	// shortTurn is how much the writer itself moves, while all others wait: what was written while the rest was moved
	// beside it.
	shortTurn = 1_000

	// emergencyPages is when SQLite moves the log in the commit that made it so long.
	emergencyPages = 3 * checkpointPages
)

const (
	checkpointInterval = 4  // commits between two looks at the log
	checkpointTries    = 16 // beside the writer, until nothing is left
)

const (
	logSQL        = "PRAGMA wal_checkpoint(NOOP)"
	checkpointSQL = "PRAGMA wal_checkpoint(PASSIVE)"
)

// checkpoints tells when the log is to be moved. Whoever moves it beside the writer holds the mutex.
type checkpoints struct {
	sync.Mutex
	beside *connection // that moves it; nil until it is needed
	tried  int64       // pages that the log had when it was moved last, 0 once it began anew
	moved  atomic.Bool // just now: the next commit finds little left

	handedOver atomic.Bool   // whether somebody else moves it
	long       chan struct{} // has a value when they are to
}

// watchLog looks at the log, once in a while, in the caller's turn and outside of a transaction. The log begins anew with
// the first write that finds all of it moved and nobody reading it. So where readers come and go, the little that the
// writer adds is moved again and again until that happens.
func (w *writer) watchLog() {
	commits, _ := w.commitTimes.total()
	if commits%checkpointInterval != 0 && !w.checkpoints.moved.Load() || !w.checkpoints.TryLock() {
		return
	}
	w.checkpoints.moved.Store(false)
	length, moved, err := w.connection.checkpoint(logSQL)
	if length < w.checkpoints.tried {
		w.checkpoints.tried = 0
	}
	switch {
	case err != nil || length < handOverPages:
	case w.checkpoints.handedOver.Load():
		select {
		case w.checkpoints.long <- struct{}{}:
		default: // it is told already
		}
	case length < checkpointPages:
	case length-moved <= shortTurn:
		_, _, _ = w.connection.checkpoint(checkpointSQL) // the log stays as it is until the next time
	case length-w.checkpoints.tried >= checkpointPages:
		go w.checkpointBeside() // which unlocks
		return
	}
	w.checkpoints.Unlock()
}

// checkpointBeside moves the log into the file on a connection of its own, while others write. SQLite has the disk take
// what it moved only where nothing was added to the log meanwhile: each try finds less to move, until one is quick enough.
func (w *writer) checkpointBeside() {
	defer w.checkpoints.Unlock()
	if w.checkpoints.beside == nil {
		var err error
		if w.checkpoints.beside, err = w.connect(); err != nil {
			return // the log stays as it is until the next time
		}
	}
	c := w.checkpoints.beside
	for range checkpointTries {
		_, _, err := c.checkpoint(checkpointSQL)
		length, moved, lookErr := c.checkpoint(logSQL)
		w.checkpoints.tried = length
		if err != nil || lookErr != nil {
			_ = w.checkpoints.close() // the next one may do better
			break
		}
		if length == moved {
			break
		}
	}
	w.checkpoints.moved.Store(true)
}

// close lets go of the connection that moves the log. The caller holds the mutex.
func (c *checkpoints) close() error {
	if c.beside == nil {
		return nil
	}
	closing := c.beside
	c.beside = nil
	return closing.Close()
}

// checkpoint runs one of the statements above. It returns how many pages the log has, and how many of them were moved.
func (c *connection) checkpoint(query string) (length, moved int64, err error) {
	rows, err := c.query(context.Background(), statement{text: query, kind: kindRead}, nil)
	if err != nil {
		return 0, 0, err
	}
	values := make([]driver.Value, 3) // whether somebody was in the way, and what is returned
	if err := errors.Join(rows.Next(values), rows.Close()); err != nil {
		return 0, 0, err
	}
	length, isLength := values[1].(int64)
	moved, isMoved := values[2].(int64)
	if !isLength || !isMoved {
		return 0, 0, fmt.Errorf("%s returned %v", query, values)
	}
	return length, moved, nil
}
