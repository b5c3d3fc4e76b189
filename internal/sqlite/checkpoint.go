package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"contactbase/internal/disk"
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

	// leastPages is the least that either waits for, 1 MiB, however small the disk is.
	leastPages = 250

	// emergencyPages is when SQLite moves the log in the commit that made it so long.
	emergencyPages = 3 * checkpointPages
)

const pageSize = 4096 // in bytes, as PocketBase creates databases

// roomShare is which part of the disk's room the log may take. Moving it into the file takes as much again, and so do the files that a
// replica reads it into.
const roomShare = 4

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
	full   bool        // whether a write failed because the disk is full; of who has the turn

	handedOver atomic.Bool   // whether somebody else moves it
	long       chan struct{} // has a value when they are to
}

// watchLog looks at the log, once in a while, in the caller's turn and outside of a transaction. The log begins anew with
// the first write that finds all of it moved and nobody reading it. So where readers come and go, the little that the
// writer adds is moved again and again until that happens.
func (w *writer) watchLog() {
	commits, _ := w.commitTimes.total()
	if commits%checkpointInterval != 0 && !w.checkpoints.moved.Load() && !w.checkpoints.full || !w.checkpoints.TryLock() {
		return
	}
	w.checkpoints.moved.Store(false)
	length, moved, err := w.connection.checkpoint(logSQL)
	if length < w.checkpoints.tried {
		w.checkpoints.tried = 0
	}
	most := w.mostPages(length)
	if w.checkpoints.full {
		w.checkpoints.full, most = false, 1
	}
	switch {
	case err != nil || length < min(handOverPages, most):
	case w.checkpoints.handedOver.Load():
		select {
		case w.checkpoints.long <- struct{}{}:
		default: // it is told already
		}
	case length < most:
	case length-moved <= shortTurn:
		_, _, _ = w.connection.checkpoint(checkpointSQL) // the log stays as it is until the next time
	case length-w.checkpoints.tried >= most:
		go w.checkpointBeside() // which unlocks
		return
	}
	w.checkpoints.Unlock()
}

// mostPages returns how long the log may be before it is moved, with the room that the disk has beside a log of this length.
func (w *writer) mostPages(length int64) int64 {
	space, err := disk.Of(w.folder)
	if err != nil {
		return checkpointPages // nothing is known
	}
	room := int64(min(space.Free, math.MaxInt64/2))/pageSize + length
	return max(leastPages, min(checkpointPages, room/roomShare))
}

// relieve moves the log into the file after a write for which the disk had no room. The log begins anew then and needs none, unless the
// file has to grow: the first commit after that tries again.
func (w *writer) relieve() {
	if w.checkpoints.handedOver.Load() || w.open() != nil {
		return
	}
	if length, moved, err := w.connection.checkpoint(logSQL); err == nil && moved < length {
		_, _, _ = w.connection.checkpoint(checkpointSQL) // the next write tells
	}
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
