package store

import (
	"context"
	"database/sql"
	"fmt"

	"contactbase/internal/delivery"
	"contactbase/internal/stamp"
)

// backlogSQL counts the pending deliveries and finds the first of them, through an index of pending deliveries. Of the
// events after the cursor it reads the first.
const backlogSQL = `SELECT p.n, coalesce((SELECT created FROM deliveries WHERE rowid = p.first), ''),
	(` + lagSQL + `),
	coalesce((SELECT created FROM events WHERE rowid > ` + cursorRow + ` ORDER BY rowid LIMIT 1), ''),
	(SELECT count(*) FROM webhooks WHERE disabled = 1)
FROM (SELECT count(*) AS n, min(rowid) AS first FROM deliveries WHERE status = 'pending') p`

// Backlog returns how much is pending.
func (s *Store) Backlog(context.Context) (delivery.Backlog, error) {
	var backlog delivery.Backlog
	err := s.read(backlogSQL, func(rows *sql.Rows) error {
		var oldest, oldestEvent string
		err := rows.Scan(&backlog.Pending, &oldest, &backlog.FanOut, &oldestEvent, &backlog.Disabled)
		if oldest == "" || oldestEvent != "" && oldestEvent < oldest {
			oldest = oldestEvent
		}
		backlog.Oldest, backlog.OldestFanOut = stamp.Parse(oldest), stamp.Parse(oldestEvent)
		return err
	})
	if err != nil {
		return backlog, fmt.Errorf("counting what waits: %w", err)
	}
	return backlog, nil
}
