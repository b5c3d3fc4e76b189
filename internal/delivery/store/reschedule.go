package store

import (
	"context"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// fromFutureSQL finds the pending deliveries that were scheduled by a clock that was ahead of ?1. It takes long if
// many are pending, so it has a connection of its own.
const fromFutureSQL = `SELECT rowid FROM deliveries
WHERE status = 'pending' AND (nextAttempt > ?1 AND attempts = 0 OR updated > ?1)`

// rescheduleSQL reschedules the deliveries ?2 at ?1: due ones stay due, a retry waits for its original delay, and a
// delivery waits for the one in front of it until ?3 at most.
var rescheduleSQL = `UPDATE deliveries SET
	nextAttempt = CASE
		WHEN nextAttempt <= ?1 THEN nextAttempt
		WHEN attempts = 0 THEN CASE WHEN ` + before("deliveries", "rowid") + ` IS NULL THEN ?1 ELSE min(nextAttempt, ?3) END
		WHEN updated > ?1 THEN min(nextAttempt, strftime('%Y-%m-%d %H:%M:%fZ', ?1,
			printf('%.3f seconds', max(0, unixepoch(nextAttempt, 'subsec') - unixepoch(updated, 'subsec')))))
		ELSE nextAttempt END,
	created = min(created, ?1), updated = min(updated, ?1)
WHERE rowid IN (SELECT value FROM json_each(?2)) AND status = 'pending'`

// Reschedule implements delivery.Queue.
func (s *Store) Reschedule(ctx context.Context, now time.Time) error {
	at, free := stamp.Stored(now), stamp.Stored(now.Add(holdTime))
	rowids, err := sqlite.Values[int64](sqlite.Direct(s.app.ConcurrentDB()), fromFutureSQL, at)
	if err == nil {
		err = sqlite.InChunks(ctx, s.app, func(tx core.App, limit int) (int, error) {
			some := rowids[:min(limit, len(rowids))]
			rowids = rowids[len(some):]
			_, err := sqlite.Exec(tx, rescheduleSQL, at, sqlite.List(some), free)
			return len(some), err
		})
	}
	if err != nil {
		return fmt.Errorf("rescheduling pending deliveries: %w", err)
	}
	return nil
}
