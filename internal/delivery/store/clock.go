package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// fromFutureSQL finds the pending deliveries that were planned by a clock that was ahead of ?1, and those that are
// claimed beyond ?2. Finding them takes long where much is pending, and so it is done on a connection of its own.
const fromFutureSQL = `SELECT rowid FROM deliveries
WHERE status = 'pending' AND (nextAttempt > ?1 AND attempts = 0 OR updated > ?1 OR leaseUntil > ?2)`

// setBackSQL plans the deliveries ?3 anew at ?1: those that are due stay due, a retry waits for as long as it was to wait
// when it was planned, and who waits for the one in front of it not beyond ?5. Claims beyond ?2 end, except those of the deliveries ?4.
var setBackSQL = `UPDATE deliveries SET
	nextAttempt = CASE
		WHEN nextAttempt <= ?1 THEN nextAttempt
		WHEN attempts = 0 THEN CASE WHEN ` + before("deliveries", "rowid") + ` IS NULL THEN ?1 ELSE min(nextAttempt, ?5) END
		WHEN updated > ?1 THEN min(nextAttempt, strftime('%Y-%m-%d %H:%M:%fZ', ?1,
			printf('%.3f seconds', max(0, unixepoch(nextAttempt, 'subsec') - unixepoch(updated, 'subsec')))))
		ELSE nextAttempt END,
	leaseUntil = CASE WHEN leaseUntil > ?2 AND id NOT IN (SELECT value FROM json_each(?4)) THEN '' ELSE leaseUntil END,
	created = min(created, ?1), updated = min(updated, ?1)
WHERE rowid IN (SELECT value FROM json_each(?3)) AND status = 'pending'`

// SetBack implements delivery.Queue.
func (s *Store) SetBack(ctx context.Context, now time.Time, held []*delivery.Job) error {
	if err := s.setBack(ctx, now, held); err != nil {
		return fmt.Errorf("planning deliveries anew after the clock was set back: %w", err)
	}
	s.forgetReady()
	return nil
}

func (s *Store) setBack(ctx context.Context, now time.Time, held []*delivery.Job) error {
	// a clock that was set back by little leaves real claims that end a little later
	at, longest, free := stamp.Stored(now), stamp.Stored(now.Add(2*delivery.Lease)), stamp.Stored(now.Add(holdTime))
	var rowids []int64
	err := s.read(ctx, fromFutureSQL, func(rows *sql.Rows) error {
		var rowid int64
		err := rows.Scan(&rowid)
		rowids = append(rowids, rowid)
		return err
	}, at, longest)
	if err != nil {
		return err
	}
	ids := make([]string, len(held))
	for i, job := range held {
		ids[i] = job.DeliveryID
	}
	kept, err := list(ids)
	if err != nil {
		return err
	}
	return sqlite.InChunks(ctx, s.app, func(tx core.App, limit int) (int, error) {
		some := rowids[:min(limit, len(rowids))]
		rowids = rowids[len(some):]
		encoded, err := list(some)
		if err != nil {
			return 0, err
		}
		_, err = sqlite.Run(tx, []sqlite.Statement{statement(setBackSQL, at, longest, encoded, kept, free)})
		return len(some), err
	})
}
