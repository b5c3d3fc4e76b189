package retention

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/loop"
)

// sweepPoll is how often a sweeper looks for what another process has deleted.
const sweepPoll = 10 * time.Second

// NewSweeper returns the loop that removes in the background what belongs to what was deleted. Wake it when something was.
func NewSweeper(app core.App, deliveries delivery.Participant) *loop.Loop {
	return loop.New(sweepPoll, func(ctx context.Context) {
		if err := Sweep(ctx, app, deliveries); err != nil && ctx.Err() == nil {
			app.Logger().Error("removing what belonged to what was deleted; it is tried again", "error", err)
		}
	})
}
