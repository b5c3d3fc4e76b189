package retention

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery/store"
	"contactbase/internal/loop"
)

// sweepInterval is how often the sweeper looks for deletions of other processes.
const sweepInterval = 10 * time.Second

// fanOutPause is how long the sweeper waits for the fan-out of a contact's last events.
const fanOutPause = time.Second

// NewSweeper returns the sweeper, the loop that calls Sweep in the background. The caller wakes it after each deletion.
func NewSweeper(app core.App, deliveries *store.Store) *loop.Loop {
	return loop.New(sweepInterval, func(ctx context.Context) {
		for waiting := true; waiting; {
			var err error
			if waiting, err = sweepAll(ctx, app, deliveries); err != nil && ctx.Err() == nil {
				app.Logger().Error("cannot delete the dependents of deleted records, retrying", "error", err)
			}
			waiting = waiting && loop.Pause(ctx, fanOutPause)
		}
	})
}
