package inbound

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const pruneSQL = "DELETE FROM `inbound_requests` " +
	"WHERE rowid IN (SELECT rowid FROM `inbound_requests` WHERE `created` < ? ORDER BY `created` LIMIT ?)"

// Prune deletes up to limit requests received before a time, oldest first, and returns their number.
func Prune(tx core.App, limit int, before time.Time) (int, error) {
	deleted, err := sqlite.Exec(tx, pruneSQL, stamp.Stored(before), limit)
	if err != nil {
		return 0, fmt.Errorf("pruning inbound requests: %w", err)
	}
	return deleted, nil
}
