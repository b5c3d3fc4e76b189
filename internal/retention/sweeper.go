package retention

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/loop"
)

// sweepInterval is how often the sweeper looks for deletions of other processes.
const sweepInterval = 10 * time.Second

// NewSweeper returns the sweeper, the loop that calls Sweep in the background. The caller wakes it after each deletion.
func NewSweeper(app core.App, deliveries delivery.Participant) *loop.Loop {
	return loop.New(sweepInterval, func(ctx context.Context) {
		if err := Sweep(ctx, app, deliveries); err != nil && ctx.Err() == nil {
			app.Logger().Error("cannot delete the dependents of deleted records, retrying", "error", err)
		}
	})
}
