package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
)

const (
	// checkpointPages is after how many pages the log is moved into the file, 16 MiB: pages of indexes that many rows
	// touch are moved once for all of them.
	checkpointPages = 4_000

	// emergencyPages is after how many the writer itself moves it, who keeps everybody waiting meanwhile.
	emergencyPages = 8 * checkpointPages

	checkpointInterval = 16 // commits between two looks at the log

	// checkpointTries is how often it is moved beside the writer at most, until no more than shortTurn pages are left.
	checkpointTries = 4
	shortTurn       = 500
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

// checkpoint moves the log into the file on a connection of its own, while others write. What they wrote meanwhile is
// left to a short turn of the writer, which begins the log anew after it. Where readers of an older state are in the
// way, the log is moved again once it has grown by as much.
func (w *writer) checkpoint() {
	if err := w.checkpointBeside(); err != nil {
		return // the log stays as it is; the writer moves it when it becomes too long
	}
	_ = w.alone(context.Background(), func(_ context.Context, c *connection) error {
		_, err := c.checkpoint(checkpointSQL)
		return err
	})
}

func (w *writer) checkpointBeside() error {
	defer w.checkpoints.Unlock()
	c, err := w.connect()
	if err != nil {
		return err
	}
	left := int64(emergencyPages)
	for try := 0; try < checkpointTries && left > shortTurn && err == nil; try++ {
		if w.checkpoints.tried, err = c.checkpoint(checkpointSQL); err == nil {
			left, err = c.checkpoint(logSQL)
			left -= w.checkpoints.tried
		}
	}
	return errors.Join(err, c.Close())
}

// checkpoint runs one of the statements above, and returns how many pages the log has.
func (c *connection) checkpoint(query string) (log int64, err error) {
	rows, err := c.query(context.Background(), statement{text: query, kind: kindRead}, nil)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	values := make([]driver.Value, 3) // whether it was kept from moving, the log's pages, those moved
	if err := rows.Next(values); err != nil {
		return 0, err
	}
	log, ok := values[1].(int64)
	if !ok {
		return 0, fmt.Errorf("%s returned %v", query, values)
	}
	return log, nil
}
