package move

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/loop"
	"contactbase/internal/retention"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// drainInterval is the pause between two checks for deliveries in flight.
const drainInterval = 100 * time.Millisecond

// Freeze closes a tenant for writes, and reports whether it was open. It returns once all events have their
// deliveries, none of them is in flight, and deleted contacts are erased.
func Freeze(ctx context.Context, app core.App, deliveries *store.Store, tenantID string) (changed bool, err error) {
	// do the slow part before
	if err := deliveries.CatchUp(ctx); err != nil {
		return false, err
	}
	if err := retention.Sweep(ctx, app, deliveries); err != nil {
		return false, err
	}
	err = app.RunInTransaction(func(tx core.App) (err error) {
		changed, err = tenant.Freeze(tx, tenantID)
		return err
	})
	if err != nil {
		return false, err
	}
	err = deliveries.CatchUp(ctx) // events since then
	if err == nil {
		err = drain(ctx, app, tenantID)
	}
	if err == nil {
		err = retention.Sweep(ctx, app, deliveries)
	}
	if err != nil && changed {
		_, opening := tenant.Unfreeze(app, tenantID)
		err = errors.Join(err, opening)
	}
	return changed, err
}

// drain waits until the tenant has no deliveries in flight. No new ones are claimed. The engine, perhaps in another
// process, records when it has no claim of the tenant left; without an engine there are none.
func drain(ctx context.Context, app core.App, tenantID string) error {
	for {
		busy, err := tenant.ToDrain(sqlite.Direct(app.ConcurrentDB()))
		if err != nil {
			return err
		}
		if !slices.Contains(busy, tenantID) || !delivery.IsSending(app.DataDir()) {
			return nil
		}
		if !loop.Pause(ctx, drainInterval) {
			return ctx.Err()
		}
	}
}
