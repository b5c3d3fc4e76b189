package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/webhook"
)

// dueSQL reads the first ?3 deliveries that are due at ?2 of each of the webhooks in ?1, without those in ?4.
const dueSQL = `SELECT d.nextAttempt, e.tenant, d.id, d.webhook, d.attempts, d.created,
	e.id, e.type, e.contact, e.payload, e.created
FROM json_each(?1) j
CROSS JOIN deliveries d ON d.rowid IN (
	SELECT q.rowid FROM deliveries q
	WHERE q.webhook = j.value AND q.status = 'pending' AND q.blocked = 0 AND q.nextAttempt <= ?2
		AND q.id NOT IN (SELECT value FROM json_each(?4))
	ORDER BY q.nextAttempt, q.rowid LIMIT ?3)
CROSS JOIN events e ON e.id = d.event`

// endpointsSQL reads the webhooks in ?1 of tenants that exist, in the order of scanEndpoint, and openSQL those of them
// that may be sent to.
var (
	endpointsSQL = `SELECT w.id, w.tenant, w.url, w.sealedHeaders, w.maxPerSecond, w.memberOwned,
	w.secret, w.previousSecret, w.previousSecretUntil, w.olderSecrets
FROM json_each(?1) j CROSS JOIN webhooks w ON w.id = j.value CROSS JOIN tenants t ON t.id = w.tenant`
	openSQL = endpointsSQL + ` AND t.apiEnabled = 1 AND w.disabled = 0 AND ` + writable
)

// dueJob is a due delivery without its endpoint.
type dueJob struct {
	*delivery.Job
	webhook     string
	nextAttempt string
	tenant      string // the event's
}

// Fetch implements delivery.Queue. It reads without the writer lock.
func (s *Store) Fetch(_ context.Context, fetch delivery.Fetch) ([]*delivery.Job, error) {
	due, err := s.fetchDue(fetch)
	if err != nil {
		return nil, fmt.Errorf("fetching deliveries: %w", err)
	}
	webhooks := make([]string, len(due))
	for i, d := range due {
		webhooks[i] = d.webhook
	}
	slices.Sort(webhooks)
	endpoints, err := s.endpoints(openSQL, slices.Compact(webhooks), fetch.Now)
	if err != nil {
		return nil, fmt.Errorf("reading the endpoints of deliveries: %w", err)
	}
	var jobs []*delivery.Job
	for _, d := range due {
		if endpoint := endpoints[d.webhook]; endpoint != nil {
			d.Endpoint = endpoint.For(d.tenant)
			jobs = append(jobs, d.Job)
		}
	}
	return jobs, nil
}

// fetchDue reads the due deliveries of each webhook in the order of their due times. Webhooks with the same limit share
// a query, because a LIMIT cannot depend on a row.
func (s *Store) fetchDue(fetch delivery.Fetch) (due []dueJob, err error) {
	byNumber := map[int][]string{}
	for webhook, n := range fetch.Limits {
		byNumber[n] = append(byNumber[n], webhook)
	}
	claimed := sqlite.List(fetch.Claimed)
	for n, webhooks := range byNumber {
		err = s.read(dueSQL, func(rows *sql.Rows) error {
			d, err := scanDue(rows)
			due = append(due, d)
			return err
		}, sqlite.List(webhooks), stamp.Stored(fetch.Now), n, claimed)
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(due, func(a, b dueJob) int { return cmp.Compare(a.nextAttempt, b.nextAttempt) })
	return due, nil
}

func scanDue(rows *sql.Rows) (dueJob, error) {
	d := dueJob{Job: &delivery.Job{}}
	var created, eventCreated string
	err := rows.Scan(&d.nextAttempt, &d.tenant, &d.DeliveryID, &d.webhook, &d.Attempt,
		&created, &d.EventID, &d.EventType, &d.ContactID, &d.Payload, &eventCreated)
	d.Attempt++
	d.Created, d.EventCreated = stamp.Parse(created), stamp.Parse(eventCreated)
	return d, err
}

// endpoints reads webhooks by a query such as endpointsSQL.
func (s *Store) endpoints(query string, webhooks []string, now time.Time) (map[string]*delivery.Endpoint, error) {
	found := map[string]*delivery.Endpoint{}
	err := s.read(query, func(rows *sql.Rows) error {
		endpoint, err := s.scanEndpoint(rows, now)
		if err == nil {
			found[endpoint.WebhookID] = endpoint
		}
		return err
	}, sqlite.List(webhooks))
	return found, err
}

func (s *Store) scanEndpoint(rows *sql.Rows, now time.Time) (*delivery.Endpoint, error) {
	endpoint := &delivery.Endpoint{}
	var headers string
	var secrets webhook.Secrets
	err := rows.Scan(&endpoint.WebhookID, &endpoint.TenantID,
		&endpoint.URL, &headers, &endpoint.MaxPerSecond, &endpoint.MemberOwned,
		&secrets.Current, &secrets.Previous, &secrets.PreviousUntil, &secrets.Older)
	if err != nil {
		return nil, err
	}
	var sealed error
	endpoint.Headers, endpoint.Fault = webhook.SentHeaders(s.app, headers)
	if endpoint.Secrets, sealed = secrets.Signing(s.app, now); sealed != nil {
		endpoint.Fault = sealed
	}
	return endpoint, nil
}
