package retention

import (
	"context"
	"errors"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/contact/imports"
	"contactbase/internal/delivery/store"
	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/notice"
	"contactbase/internal/sqlite"
	"contactbase/internal/visitor"
)

// Prune deletes finished deliveries, inbound requests, activity and notices from before a time, expired remembered
// responses and portal links, old imports, and addresses of sign-ins. It stops between two chunks when ctx ends.
func Prune(ctx context.Context, app core.App, deliveries *store.Store, before time.Time) error {
	now := time.Now()
	_, err := deliveries.Prune(ctx, before)
	err = errors.Join(err, activity.Prune(ctx, app, before, now),
		notice.Prune(ctx, app, before, now), imports.Prune(ctx, app, now.Add(-imports.Kept)))
	for _, prune := range []sqlite.Chunk{
		func(tx core.App, limit int) (int, error) { return inbound.Prune(tx, limit, before) },
		func(tx core.App, limit int) (int, error) { return idempotency.Prune(tx, limit, now) },
		func(tx core.App, limit int) (int, error) { return member.PruneLinks(tx, limit, now) },
		func(tx core.App, limit int) (int, error) { return visitor.Prune(tx, limit, now) },
	} {
		err = errors.Join(err, sqlite.InChunks(ctx, app, prune))
	}
	return err
}
