package retention

import (
	"context"
	"errors"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/contact/imports"
	"contactbase/internal/delivery"
	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/notice"
	"contactbase/internal/sqlite"
)

// Prune deletes finished deliveries, inbound requests, activity and notices from before a time, expired remembered responses and portal links,
// and old imports. It stops between two chunks when ctx ends.
func Prune(ctx context.Context, app core.App, deliveries delivery.Store, before time.Time) error {
	_, err := deliveries.Prune(ctx, before)
	if err == nil {
		err = sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
			return inbound.Prune(tx, limit, before)
		})
	}
	if err == nil {
		err = sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
			return imports.Prune(tx, limit, time.Now().Add(-imports.Kept))
		})
	}
	return errors.Join(err, activity.Prune(ctx, app, before, time.Now()), notice.Prune(ctx, app, before, time.Now()), sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
		return idempotency.Prune(tx, limit, time.Now())
	}), sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
		return member.PruneLinks(tx, limit, time.Now())
	}))
}
