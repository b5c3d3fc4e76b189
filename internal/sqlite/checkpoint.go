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
	"contactbase/internal/sqlite/physical"
)

// All in pages of the WAL.
const (
	// checkpointPages is the size of the WAL at which it is checkpointed, 64 MiB: a checkpoint writes a page of an
	// index once for all rows that touched it, and commits are slow while the disk writes.
	checkpointPages = 16_000

	// handOverPages is the size at which the replica has to checkpoint, 16 MiB: all writers wait while it does.
	handOverPages = 4_000

	// inlinePages is how much the writer itself checkpoints while all others wait: what was written during a
	// concurrent checkpoint.
	inlinePages = 1_000

	// minPages is the smallest size at which the WAL is checkpointed, 1 MiB, however small the disk is.
	minPages = 250

	// emergencyPages is the size at which SQLite checkpoints in the commit itself.
	emergencyPages = 3 * checkpointPages
)

const (
	pageSize = 4096 // in bytes, as PocketBase creates databases
	// the WAL may take a quarter of the free disk space: a checkpoint needs as much again, and so do
	// the replica's files
	freeShare          = 4
	checkpointInterval = 4  // commits between two checks of the WAL
	checkpointTries    = 16 // of a concurrent checkpoint, until nothing is left

	statusSQL     = "PRAGMA wal_checkpoint(NOOP)"
	checkpointSQL = "PRAGMA wal_checkpoint(PASSIVE)"
)

// checkpoints is the state of checkpoints. A concurrent checkpoint holds the mutex.
type checkpoints struct {
	sync.Mutex
	connection *physical.Connection // for concurrent checkpoints; nil until it is needed
	tried      int64                // size of the WAL at the last checkpoint, 0 after the WAL was reset
	// whether a concurrent checkpoint has just ended, so that the next commit checks the WAL
	ran atomic.Bool
	// whether a write failed because the disk is full; owned by the holder of the writer lock
	full bool

	handedOver atomic.Bool   // whether the replica checkpoints
	due        chan struct{} // receives a value when it must checkpoint
}

// checkWAL checks the WAL after some of the commits. The caller holds the writer lock, outside a transaction. SQLite
// resets the WAL with the first write that finds all of it checkpointed and not in use by a reader. While there are
// readers, the writer checkpoints the few pages that it adds again and again until that happens.
func (w *writer) checkWAL() {
	if w.commits.Load()%checkpointInterval != 0 && !w.checkpoints.ran.Load() && !w.checkpoints.full ||
		!w.checkpoints.TryLock() {
		return
	}
	w.checkpoints.ran.Store(false)
	length, done, err := checkpoint(w.connection, statusSQL)
	if length < w.checkpoints.tried {
		w.checkpoints.tried = 0
	}
	most := w.maxWALPages(length)
	if w.checkpoints.full {
		w.checkpoints.full, most = false, 1
	}
	switch {
	case err != nil || length < min(handOverPages, most):
	case w.checkpoints.handedOver.Load():
		select {
		case w.checkpoints.due <- struct{}{}:
		default: // the replica has not received the last one yet
		}
	case length < most:
	case length-done <= inlinePages:
		_, _, _ = checkpoint(w.connection, checkpointSQL) // if it fails, the next check tries again
	case length-w.checkpoints.tried >= most:
		go w.checkpointConcurrently() // it unlocks
		return
	}
	w.checkpoints.Unlock()
}

// maxWALPages returns the size at which a WAL of this length is checkpointed, given the free disk space.
func (w *writer) maxWALPages(length int64) int64 {
	space, err := disk.Of(w.folder)
	if err != nil {
		return checkpointPages // the free space is unknown
	}
	available := int64(min(space.Free, math.MaxInt64/2))/pageSize + length
	return max(minPages, min(checkpointPages, available/freeShare))
}

// checkpointFullDisk checkpoints the WAL after a write failed because the disk is full. SQLite then resets the
// WAL, so that the next write needs no space, unless the database must grow. The first commit after that
// checkpoints again.
func (w *writer) checkpointFullDisk() {
	if w.checkpoints.handedOver.Load() || w.open() != nil {
		return
	}
	if length, done, err := checkpoint(w.connection, statusSQL); err == nil && done < length {
		_, _, _ = checkpoint(w.connection, checkpointSQL) // the next write shows whether it helped
	}
}

// checkpointConcurrently checkpoints the WAL on a connection of its own, while writers write. SQLite completes a
// checkpoint only if nothing is added to the WAL meanwhile. Each try has fewer pages left, until one is quick enough.
func (w *writer) checkpointConcurrently() {
	defer w.checkpoints.Unlock()
	if w.checkpoints.connection == nil {
		var err error
		if w.checkpoints.connection, err = w.connect(); err != nil {
			return // the next check tries again
		}
	}
	c := w.checkpoints.connection
	for range checkpointTries {
		_, _, err := checkpoint(c, checkpointSQL)
		length, done, statusErr := checkpoint(c, statusSQL)
		w.checkpoints.tried = length
		if err != nil || statusErr != nil {
			_ = w.checkpoints.close() // the next checkpoint opens another connection
			break
		}
		if length == done {
			break
		}
	}
	w.checkpoints.ran.Store(true)
}

// close closes the connection for checkpoints. The caller holds the mutex.
func (c *checkpoints) close() error {
	if c.connection == nil {
		return nil
	}
	closing := c.connection
	c.connection = nil
	return closing.Close()
}

// checkpoint runs one of the statements above. It returns how many pages the WAL has, and how many of them
// are checkpointed.
func checkpoint(c *physical.Connection, query string) (length, done int64, err error) {
	rows, err := c.Query(context.Background(), physical.Statement{Text: query, Kind: physical.Read}, nil)
	if err != nil {
		return 0, 0, err
	}
	values := make([]driver.Value, 3) // whether it was blocked, pages in the WAL, and checkpointed pages
	if err := errors.Join(rows.Next(values), rows.Close()); err != nil {
		return 0, 0, err
	}
	length, isLength := values[1].(int64)
	done, isDone := values[2].(int64)
	if !isLength || !isDone {
		return 0, 0, fmt.Errorf("%s returned %v", query, values)
	}
	return length, done, nil
}
