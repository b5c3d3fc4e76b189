package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// Ping builds a webhook.ping for the webhook, disabled or not, has send attempt it, and then stores the event with its
// delivery and the result. Nothing is stored while the attempt is made, so that a crash forgets the ping, and nothing
// afterwards if the webhook was deleted meanwhile or its tenant accepts no writes any more. The error is sql.ErrNoRows
// if there is no such webhook.
func (s *Store) Ping(webhookID string, now time.Time, send func(*delivery.Job) delivery.Result) error {
	endpoint, err := s.endpoint(webhookID, now)
	if err != nil {
		return err
	}
	e := &event.Event{Kind: event.WebhookPing, TenantID: endpoint.TenantID, Data: map[string]string{"webhook": webhookID}}
	insert, err := event.Insert(e, now)
	if err != nil {
		return err
	}
	result := send(&delivery.Job{
		DeliveryID: recordid.New(now), Attempt: 1, EventID: e.ID, EventType: string(e.Kind),
		EventCreated: now, Payload: []byte(e.Payload), Created: now, Endpoint: endpoint,
	})
	return s.recordPing(result, insert)
}

// Sample has send attempt an event of the kind with the properties of body, and stores nothing. The error is
// sql.ErrNoRows if there is no such webhook.
func (s *Store) Sample(
	webhookID string, kind event.Kind, body map[string]json.RawMessage, now time.Time, send func(*delivery.Job),
) error {
	endpoint, err := s.endpoint(webhookID, now)
	if err != nil {
		return err
	}
	id, payload, err := event.Sample(kind, body, now)
	if err != nil {
		return err
	}
	send(&delivery.Job{
		DeliveryID: recordid.New(now), Attempt: 1, EventID: id, EventType: string(kind),
		EventCreated: now, Payload: payload, Created: now, Endpoint: endpoint,
	})
	return nil
}

// endpoint returns that of the webhook, whose tenant must accept writes.
func (s *Store) endpoint(webhookID string, now time.Time) (*delivery.Endpoint, error) {
	endpoints, err := s.endpoints(endpointsSQL, []string{webhookID}, now)
	if err != nil {
		return nil, err
	}
	endpoint := endpoints[webhookID]
	if endpoint == nil {
		return nil, sql.ErrNoRows
	}
	return endpoint, tenant.Writable(sqlite.Direct(s.app.ConcurrentDB()), endpoint.TenantID)
}

// pingedSQL reports whether the webhook ?1 and its tenant ?2 still exist.
const pingedSQL = "SELECT EXISTS (SELECT 1 FROM webhooks w " +
	"JOIN tenants t ON t.id = w.tenant WHERE w.id = ?1 AND t.id = ?2)"

// recordPing writes the event, the delivery and the attempt, unless the webhook or its tenant is gone, or that is not
// writable any more.
func (s *Store) recordPing(result delivery.Result, insert sqlite.Statement) error {
	job, now := result.Job, time.Now()
	_, err := sqlite.Write(s.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		there, err := sqlite.Value[bool](tx, pingedSQL, job.Endpoint.WebhookID, job.Endpoint.TenantID)
		if err != nil || !there {
			return nil, err
		}
		state, err := tenant.StateOf(tx, job.Endpoint.TenantID)
		if err != nil || state.Writable() != nil {
			return nil, err
		}
		ping := newEvent{id: job.EventID, tenant: job.Endpoint.TenantID, created: stamp.Stored(job.Created)}
		row := newDelivery{ping, job.Endpoint.WebhookID}.values(job.DeliveryID, stamp.Stored(now))
		statements := []sqlite.Statement{insert, statement(insertSQL, row...)}
		stored, err := storeResults(tx, []delivery.Result{result}, now)
		return append(statements, stored...), err
	})
	if err != nil {
		return fmt.Errorf("storing the attempt: %w", err)
	}
	s.logDisabled(result)
	return nil
}
