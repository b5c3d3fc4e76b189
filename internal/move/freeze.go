package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/retention"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// drainInterval is how often it is looked whether something is still in flight.
const drainInterval = 100 * time.Millisecond

// Freeze closes a tenant for writes, and reports whether it was open. It returns once all that happened has its deliveries, none of them
// is in flight, and what was deleted is erased.
func Freeze(ctx context.Context, app core.App, deliveries delivery.Store, tenantID string) (changed bool, err error) {
	// what takes long is done before, as far as there is any
	if err := retention.Sweep(ctx, app, deliveries); err != nil {
		return false, err
	}
	if err := deliveries.PlaceAll(ctx, app); err != nil {
		return false, err
	}
	err = app.RunInTransaction(func(tx core.App) (err error) {
		if err := deliveries.PlaceAll(ctx, tx); err != nil { // those since then
			return err
		}
		changed, err = tenant.Freeze(tx, tenantID)
		return err
	})
	if err != nil {
		return false, err
	}
	err = drain(ctx, app, tenantID)
	if err == nil {
		err = retention.Sweep(ctx, app, deliveries)
	}
	if err != nil && changed {
		_, opening := tenant.Unfreeze(app, tenantID)
		err = errors.Join(err, opening)
	}
	return changed, err
}

// inFlightSQL reports whether deliveries of the tenant ?1 are claimed at ?2 by those who store their claims.
const inFlightSQL = "SELECT EXISTS (SELECT 1 FROM `webhooks` w JOIN `deliveries` d ON d.`webhook` = w.`id` AND d.`status` = 'pending' AND d.`leaseUntil` > ?2 WHERE w.`tenant` = ?1)"

// drain waits until nothing of the tenant is in flight. Nothing new is claimed: what a process that died had claimed is free after a
// while. The engine, maybe of another process, keeps its claims in memory, and tells.
func drain(ctx context.Context, app core.App, tenantID string) error {
	tick := time.NewTicker(drainInterval)
	defer tick.Stop()
	for {
		busy, err := sqlite.Value[bool](sqlite.Direct(app.ConcurrentDB()), inFlightSQL, tenantID, stamp.Stored(time.Now()))
		if err != nil {
			return fmt.Errorf("looking for deliveries in flight: %w", err)
		}
		if !busy && delivery.IsSending(app.DataDir()) {
			closed, err := tenant.ToRest(sqlite.Direct(app.ConcurrentDB()))
			if err != nil {
				return err
			}
			busy = slices.Contains(closed, tenantID)
		}
		if !busy {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
