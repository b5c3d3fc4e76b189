package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// AddPing implements delivery.Store.
func (s *Store) AddPing(ctx context.Context, webhookID string, now time.Time) (*delivery.Job, error) {
	lease := now.Add(delivery.Lease).UTC().Truncate(time.Millisecond)
	deliveryID := core.GenerateDefaultRandomId()
	err := s.app.RunInTransaction(func(tx core.App) error {
		var tenantID string
		err := tx.DB().NewQuery("SELECT w.[[tenant]] FROM {{webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] WHERE w.[[id]] = {:id}").Bind(dbx.Params{"id": webhookID}).Row(&tenantID)
		if err != nil {
			return err
		}
		if err := tenant.CheckOpen(sqlite.ReaderOf(tx), tenantID); err != nil {
			return err
		}
		e := &event.Event{Kind: event.WebhookPing, TenantID: tenantID, Data: map[string]string{"webhook": webhookID}}
		if err := event.Write(tx, e, now); err != nil {
			return err
		}
		_, err = tx.DB().Insert("deliveries", dbx.Params{
			"id": deliveryID, "event": e.ID, "webhook": webhookID, "tenant": tenantID, "status": delivery.StatusPending, "attempts": 0,
			"nextAttempt": stamp.Stored(now), "lastStatus": 0, "lastError": "", "leaseUntil": stamp.Stored(lease), "created": stamp.Stored(now), "updated": stamp.Stored(now),
		}).Execute()
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.leased(ctx, webhookID, deliveryID, lease, now)
}

// leased returns the delivery, which is claimed, as a job.
func (s *Store) leased(ctx context.Context, webhookID, deliveryID string, lease, now time.Time) (*delivery.Job, error) {
	var found claimed
	err := s.read(ctx, jobSQL, func(rows *sql.Rows) (err error) {
		found, err = scanClaimed(rows)
		return err
	}, deliveryID)
	if err != nil {
		return nil, err
	}
	if found.job == nil {
		return nil, sql.ErrNoRows // deleted with its webhook a moment ago
	}
	endpoints, err := s.endpoints(ctx, endpointsSQL, []claimed{found}, now)
	if err != nil {
		return nil, err
	}
	found.job.Lease, found.job.Endpoint = lease, endpoints[webhookID]
	if found.job.Endpoint == nil {
		return nil, sql.ErrNoRows
	}
	return found.job, nil
}
