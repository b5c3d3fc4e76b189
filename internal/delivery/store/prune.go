package store

import (
	"context"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// Prune deletes events made before that time whose deliveries have ended, with their deliveries and attempts. Events
// that are pending stay, however old they are; a delivery that has waited since before that time for its webhook or
// tenant to be enabled is given up first. Prune works in chunks, so that others can write in between; ctx ends it
// between two of them. It returns how many events it deleted.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	if err := giveUpStranded(ctx, s.app, stamp.Stored(before)); err != nil {
		return 0, fmt.Errorf("giving up deliveries: %w", err)
	}
	events, err := pruneEvents(ctx, s.app, stamp.Stored(before))
	if err != nil {
		return events, fmt.Errorf("pruning events: %w", err)
	}
	return events, nil
}

// silentSQL lists the webhooks that get nothing: those that are disabled, or whose tenant lacks the feature. Tenants
// that accept no writes are excluded.
var silentSQL = "SELECT w.id FROM webhooks w JOIN tenants t ON t.id = w.tenant " +
	"WHERE (w.disabled = 1 OR t.apiEnabled = 0) AND " + writable

// strandedSQL lists pending deliveries to such a webhook that have not changed since a time, a page at a time.
const strandedSQL = "SELECT rowid AS row, id, created FROM deliveries INDEXED BY idx_deliveries_webhook " +
	"WHERE webhook = {:webhook} AND created >= {:from} " +
	"AND (created > {:from} OR rowid > {:row}) AND created < {:before} " +
	"AND status = 'pending' AND updated < {:before} ORDER BY created, rowid LIMIT {:limit}"

// giveUpSQL fails those that are still stranded.
var giveUpSQL = "UPDATE deliveries SET status = 'failed', nextAttempt = '', updated = ?1, " +
	"lastError = 'given up: the webhook stayed disabled for the whole retention period' " +
	"WHERE id IN (SELECT value FROM json_each(?2)) AND status = 'pending' AND updated < ?3 " +
	"AND EXISTS (SELECT 1 FROM webhooks w JOIN tenants t ON t.id = w.tenant " +
	"WHERE w.id = deliveries.webhook AND (w.disabled = 1 OR t.apiEnabled = 0) AND " + writable + ")"

func giveUpStranded(ctx context.Context, app core.App, before string) error {
	var webhooks []string
	if err := app.ConcurrentDB().NewQuery(silentSQL).Column(&webhooks); err != nil {
		return err
	}
	for _, webhook := range webhooks {
		now, given := stamp.Stored(time.Now()), 0
		stranded := app.ConcurrentDB().NewQuery(strandedSQL).Bind(dbx.Params{"webhook": webhook, "before": before})
		err := inPages(ctx, app, stranded, func(tx core.App, some []aged) (bool, error) {
			encoded := sqlite.List(idsOfAged(some))
			changed, err := sqlite.Run(tx, []sqlite.Statement{
				statement(giveUpSQL, now, encoded, before), statement(enqueueNextSQL, now, encoded),
			})
			if err == nil {
				given += int(changed[0])
			}
			return true, err
		})
		if given > 0 {
			app.Logger().Warn("gave up deliveries to a webhook that stayed disabled for the whole retention period",
				"webhook", webhook, "deliveries", given)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfinished is the condition that an event e is not fanned out, or has a pending delivery.
var unfinished = "(NOT " + fannedOutSQL("e") +
	" OR EXISTS (SELECT 1 FROM deliveries d WHERE d.event = e.id AND d.status = 'pending'))"

// finishedSQL lists finished events created before a time, a page at a time.
var finishedSQL = "SELECT e.rowid AS row, e.id, e.created FROM events e " +
	"WHERE e.created >= {:from} AND (e.created > {:from} OR e.rowid > {:row}) AND e.created < {:before} AND NOT " +
	unfinished +
	" AND " + tenant.WritableSQL("e.tenant") +
	" ORDER BY e.created, e.rowid LIMIT {:limit}"

func pruneEvents(ctx context.Context, app core.App, before string) (total int, err error) {
	finished := app.ConcurrentDB().NewQuery(finishedSQL).Bind(dbx.Params{"before": before})
	err = inPages(ctx, app, finished, func(tx core.App, some []aged) (bool, error) {
		deleted, done, err := deleteEvents(tx, some)
		total += deleted
		return done, err
	})
	return total, err
}

// The statements that delete events that are still finished, with their deliveries and attempts.
var (
	deleteAttemptsSQL = deleteSomeAttempts + "SELECT id FROM deliveries WHERE event IN (SELECT value FROM json_each(?1))" +
		upToSome
	deleteDeliveriesSQL = "DELETE FROM deliveries WHERE event IN (SELECT value FROM json_each(?1))"
	deleteEventsSQL     = "DELETE FROM events WHERE id IN (SELECT value FROM json_each(?1))"
	stillFinishedSQL    = "SELECT e.id FROM json_each(?) j CROSS JOIN events e ON e.id = j.value WHERE NOT " +
		unfinished + " AND " + tenant.WritableSQL("e.tenant")
)

// deleteEvents deletes those of the events that are still finished, and returns how many. If they have too many
// attempts for one chunk, it only deletes some of these, and is not done.
func deleteEvents(tx core.App, some []aged) (deleted int, done bool, err error) {
	ids, err := sqlite.Values[string](sqlite.ReaderOf(tx), stillFinishedSQL, sqlite.List(idsOfAged(some)))
	if err != nil {
		return 0, false, err
	}
	encoded := sqlite.List(ids)
	done, err = inOneChunk(tx, deleteAttemptsSQL, encoded)
	if err != nil || !done {
		return 0, false, err
	}
	_, err = sqlite.Run(tx, []sqlite.Statement{
		statement(deleteDeliveriesSQL, encoded), statement(deleteEventsSQL, encoded),
	})
	return len(ids), true, err
}

// A delivery has an attempt for each retry and each time that somebody sends it again, with up to 16 KiB of the
// response. So a chunk deletes a limited number of attempts.
const (
	attemptsAtOnce = 200

	deleteSomeAttempts = "DELETE FROM delivery_attempts WHERE rowid IN (" + someAttempts
	someAttempts       = "SELECT rowid FROM delivery_attempts WHERE delivery IN ("
	upToSome           = ") LIMIT ?2)"
)

// inOneChunk runs a statement about the attempts in ?1, of which there are up to ?2, and reports whether these were
// all.
func inOneChunk(tx core.App, text string, args ...any) (all bool, err error) {
	changed, err := sqlite.Exec(tx, text, append(args, attemptsAtOnce)...)
	return err == nil && changed < attemptsAtOnce, err
}

// agedPage is how many rows a query returns.
const agedPage = 5_000

// aged is a row to prune, with its key in the order of (created, rowid).
type aged struct {
	Row     int64  `db:"row"`
	ID      string `db:"id"`
	Created string `db:"created"`
}

func idsOfAged(rows []aged) []string {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	return ids
}

// inPages reads rows after ({:from}, {:row}) in pages of {:limit}, without the writer lock, and writes in chunks.
// Rows may have changed since they were read. write gets the same rows again until it is done with them.
func inPages(
	ctx context.Context, app core.App, query *dbx.Query, write func(tx core.App, some []aged) (done bool, err error),
) error {
	var chunks sqlite.Chunks
	for last := (aged{}); ; {
		var page []aged
		err := query.Bind(dbx.Params{"from": last.Created, "row": last.Row, "limit": agedPage}).All(&page)
		if err != nil || len(page) == 0 {
			return err
		}
		last = page[len(page)-1]
		err = chunks.Run(ctx, app, func(tx core.App, limit int) (int, error) {
			some := page[:min(limit, len(page))]
			if len(some) == 0 {
				return 0, nil
			}
			done, err := write(tx, some)
			if !done {
				return limit, err // so that there is another chunk
			}
			page = page[len(some):]
			return len(some), err
		})
		if err != nil {
			return err
		}
	}
}
