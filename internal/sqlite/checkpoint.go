package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
)

// All in pages of the log.
const (
	// checkpointPages is how much the log grows until it is moved into the file, 16 MiB: pages of indexes that many rows
	// touch are moved once for all of them.
	checkpointPages = 4_000

	// shortTurn is how much is left to a turn of the writer, which begins the log anew. Where more is written than can be
	// moved beside it, such a turn is put off until the log has longLog.
	shortTurn = 500
	longLog   = 4 * checkpointPages

	// emergencyPages is when SQLite moves the log in the commit that made it so long.
	emergencyPages = 2 * longLog
)

const (
	checkpointInterval = 16 // commits between two looks at the log
	checkpointTries    = 4  // beside the writer, until little is left
)

const (
	logSQL        = "PRAGMA wal_checkpoint(NOOP)"
	checkpointSQL = "PRAGMA wal_checkpoint(PASSIVE)"
)

// checkpoints tells when the log is to be moved. Whoever moves it holds the mutex.
type checkpoints struct {
	sync.Mutex
	tried int64 // pages that the log had when it was moved last, 0 once it began anew
}

// watchLog looks at the log, once in a while, in the caller's turn and outside of a transaction.
func (w *writer) watchLog() {
	if w.commits.Load()%checkpointInterval != 0 || !w.checkpoints.TryLock() {
		return
	}
	log, err := w.connection.checkpoint(logSQL)
	if log < w.checkpoints.tried {
		w.checkpoints.tried = 0
	}
	if err != nil || log-w.checkpoints.tried < checkpointPages {
		w.checkpoints.Unlock()
		return
	}
	go w.checkpoint()
}

// checkpoint moves the log into the file on a connection of its own, while others write, and what they wrote meanwhile in
// a short turn of the writer. Where readers of an older state are in the way, the log is moved again once it has grown by
// as much.
func (w *writer) checkpoint() {
	length, left, err := w.checkpointBeside()
	if err != nil || left > shortTurn && length < longLog {
		return // the log stays as it is until the next time
	}
	_ = w.alone(context.Background(), func(_ context.Context, c *connection) error {
		_, err := c.checkpoint(checkpointSQL)
		return err
	})
}

// checkpointBeside returns how many pages the log has, and how many of them were written too late to be moved.
func (w *writer) checkpointBeside() (length, left int64, err error) {
	defer w.checkpoints.Unlock()
	c, err := w.connect()
	if err != nil {
		return 0, 0, err
	}
	for try := 0; try == 0 || try < checkpointTries && left > shortTurn && err == nil; try++ {
		var moved int64
		if moved, err = c.checkpoint(checkpointSQL); err == nil {
			length, err = c.checkpoint(logSQL)
			left = length - moved
		}
	}
	w.checkpoints.tried = length
	return length, left, errors.Join(err, c.Close())
}

// checkpoint runs one of the statements above, and returns how many pages the log has.
func (c *connection) checkpoint(query string) (log int64, err error) {
	rows, err := c.query(context.Background(), statement{text: query, kind: kindRead}, nil)
	if err != nil {
		return 0, err
	}
	values := make([]driver.Value, 3) // whether it was kept from moving, the log's pages, those moved
	if err := errors.Join(rows.Next(values), rows.Close()); err != nil {
		return 0, err
	}
	log, ok := values[1].(int64)
	if !ok {
		return 0, fmt.Errorf("%s returned %v", query, values)
	}
	return log, nil
}
