package retention

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery/store"
)

// SweepBy is Sweep with first turns of another length.
func SweepBy(ctx context.Context, app core.App, deliveries *store.Store, turn time.Duration) error {
	_, err := sweepBy(ctx, app, deliveries, turn)
	return err
}
