package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// finishedSQL lists events made before a time, without a pending delivery, from a place on.
const finishedSQL = "SELECT e.[[rowid]] AS [[row]], e.[[id]], e.[[created]] FROM {{events}} e " +
	"WHERE e.[[created]] >= {:from} AND (e.[[created]] > {:from} OR e.[[rowid]] > {:row}) AND e.[[created]] < {:before} " +
	"AND NOT EXISTS (SELECT 1 FROM {{deliveries}} d WHERE d.[[event]] = e.[[id]] AND d.[[status]] = 'pending') " +
	"ORDER BY e.[[created]], e.[[rowid]] LIMIT {:step}"

// Prune deletes what is over and was made before that time: events of which no delivery is pending, with their
// deliveries and attempts, and inbound requests. What is still to be delivered stays, however old it is; what has
// waited since before that time for its webhook or tenant to be enabled is given up first. It goes in steps, so that
// others get to write in between; ctx ends the work between two of them. It returns how many events and requests went.
func Prune(ctx context.Context, app core.App, before time.Time) (int, error) {
	if err := giveUpStranded(ctx, app, stamp(before)); err != nil {
		return 0, fmt.Errorf("giving up deliveries: %w", err)
	}
	events, err := pruneEvents(ctx, app, stamp(before))
	if err != nil {
		return events, fmt.Errorf("pruning events: %w", err)
	}
	requests, err := pruneRequests(ctx, app, stamp(before))
	if err != nil {
		return events + requests, fmt.Errorf("pruning inbound requests: %w", err)
	}
	return events + requests, nil
}

// strandedSQL gives up deliveries that nobody will be sent: the webhook is disabled or its tenant lacks the feature, and
// nothing has happened to them since a time. Only deliveries made before it are looked at, which are few: all others of
// that age are gone.
const strandedSQL = "UPDATE {{deliveries}} SET [[status]] = 'failed', [[nextAttempt]] = '', [[leaseUntil]] = '', [[updated]] = {:now}, " +
	"[[lastError]] = 'given up: its webhook was disabled for as long as things are kept' WHERE [[rowid]] IN (" +
	"SELECT d.[[rowid]] FROM {{webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] " +
	"CROSS JOIN {{deliveries}} d INDEXED BY [[idx_deliveries_webhook]] ON d.[[webhook]] = w.[[id]] AND d.[[created]] < {:before} " +
	"WHERE (w.[[disabled]] = 1 OR t.[[apiEnabled]] = 0) AND d.[[status]] = 'pending' AND d.[[updated]] < {:before} AND d.[[leaseUntil]] <= {:now} " +
	"LIMIT {:step}) RETURNING [[webhook]]"

func giveUpStranded(ctx context.Context, app core.App, before string) error {
	given := map[string]int{} // by webhook
	defer func() {
		for webhook, count := range given {
			app.Logger().Warn("gave up deliveries to a webhook that was disabled for as long as things are kept", "webhook", webhook, "deliveries", count)
		}
	}()
	return sqlite.InSteps(ctx, app, func(tx core.App, limit int) (int, error) {
		var webhooks []string
		err := tx.DB().NewQuery(strandedSQL).
			Bind(dbx.Params{"now": stamp(time.Now()), "before": before, "step": limit}).Column(&webhooks)
		for _, webhook := range webhooks {
			given[webhook]++
		}
		return len(webhooks), err
	})
}

// finishedEvent is a place in the order of finishedSQL.
type finishedEvent struct {
	Row     int64  `db:"row"`
	ID      string `db:"id"`
	Created string `db:"created"`
}

func pruneEvents(ctx context.Context, app core.App, before string) (total int, err error) {
	var last finishedEvent // goes on from there: events with pending deliveries are passed once
	err = sqlite.InSteps(ctx, app, func(tx core.App, limit int) (int, error) {
		var page []finishedEvent
		err := tx.DB().NewQuery(finishedSQL).
			Bind(dbx.Params{"from": last.Created, "row": last.Row, "before": before, "step": limit}).All(&page)
		if err != nil || len(page) == 0 {
			return 0, err
		}
		last = page[len(page)-1]
		total += len(page)
		return len(page), deleteEvents(tx, page)
	})
	return total, err
}

func deleteEvents(tx core.App, page []finishedEvent) error {
	ids := make([]string, len(page))
	for i, e := range page {
		ids[i] = e.ID
	}
	encoded, err := list(ids)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"DELETE FROM {{delivery_attempts}} WHERE [[delivery]] IN (SELECT [[id]] FROM {{deliveries}} WHERE [[event]] IN (SELECT value FROM json_each({:ids})))",
		"DELETE FROM {{deliveries}} WHERE [[event]] IN (SELECT value FROM json_each({:ids}))",
		"DELETE FROM {{events}} WHERE [[id]] IN (SELECT value FROM json_each({:ids}))",
	} {
		if _, err := tx.DB().NewQuery(statement).Bind(dbx.Params{"ids": encoded}).Execute(); err != nil {
			return err
		}
	}
	return nil
}

const pruneRequestsSQL = `DELETE FROM inbound_requests WHERE rowid IN (
	SELECT rowid FROM inbound_requests WHERE created < ?1 ORDER BY created LIMIT ?2)`

func pruneRequests(ctx context.Context, app core.App, before string) (total int, err error) {
	err = sqlite.InSteps(ctx, app, func(tx core.App, limit int) (int, error) {
		changed, err := sqlite.Run(tx, []sqlite.Statement{statement(pruneRequestsSQL, before, limit)})
		if err != nil {
			return 0, err
		}
		total += int(changed[0])
		return int(changed[0]), nil
	})
	return total, err
}
