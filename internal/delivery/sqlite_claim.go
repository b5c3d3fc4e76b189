package delivery

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/textproto"
	"slices"
	"time"

	"contactbase/internal/secret"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// claimed is a delivery that a claim has chosen, with its place in the table.
type claimed struct {
	job     *Job
	rowid   int64
	webhook string
}

// Claim implements Queue.
//
// It reads first, without a lock: which endpoints have something due, then a few deliveries of those whose turn it is,
// then the endpoints themselves. One statement leases what is still as it was read.
func (q *SQLiteQueue) Claim(ctx context.Context, options ClaimOptions) ([]*Job, error) {
	jobs, err := q.claim(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("claiming deliveries: %w", err)
	}
	return jobs, nil
}

func (q *SQLiteQueue) claim(ctx context.Context, options ClaimOptions) ([]*Job, error) {
	now := stamp.Stored(options.Now)
	due, err := q.ready(ctx, now)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	q.mu.Lock()
	granted := q.fair.grant(due, options)
	q.mu.Unlock()
	chosen, err := q.choose(ctx, granted, options.Now)
	if err != nil || len(chosen) == 0 {
		return nil, err
	}
	endpoints, err := q.endpoints(ctx, chosen, options.Now)
	if err != nil {
		return nil, err
	}
	// to the millisecond, as it is stored: the claim is told by it
	lease := options.Now.Add(options.Lease).UTC().Truncate(time.Millisecond)
	leased, err := q.lease(chosen, now, lease)
	if err != nil {
		return nil, err
	}
	jobs := make([]*Job, 0, len(chosen))
	for _, c := range chosen {
		endpoint := endpoints[c.webhook]
		if !leased[c.job.DeliveryID] || endpoint == nil {
			continue
		}
		c.job.Lease, c.job.Endpoint = lease, endpoint
		jobs = append(jobs, c.job)
	}
	return jobs, nil
}

// ready returns the endpoints with something due.
func (q *SQLiteQueue) ready(ctx context.Context, now string) ([]ready, error) {
	var due []ready
	err := q.read(ctx, readySQL, func(rows *sql.Rows) error {
		var r ready
		var first string
		if err := rows.Scan(&r.webhook, &r.tenant, &first); err != nil {
			return err
		}
		if first <= now {
			r.urgent = first == ""
			due = append(due, r)
		}
		return nil
	})
	return due, err
}

// choose reads up to the granted number of deliveries of each endpoint. Endpoints with the same number share a
// statement, because a LIMIT cannot depend on a row.
func (q *SQLiteQueue) choose(ctx context.Context, granted map[string]int, now time.Time) ([]claimed, error) {
	byNumber := map[int][]string{}
	for webhook, n := range granted {
		byNumber[n] = append(byNumber[n], webhook)
	}
	var chosen []claimed
	for n, webhooks := range byNumber {
		wanted, err := list(webhooks)
		if err != nil {
			return nil, err
		}
		err = q.read(ctx, chooseSQL, func(rows *sql.Rows) error {
			c, err := scanClaimed(rows)
			chosen = append(chosen, c)
			return err
		}, wanted, stamp.Stored(now), n)
		if err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

func scanClaimed(rows *sql.Rows) (claimed, error) {
	job := &Job{}
	c := claimed{job: job}
	var created, eventCreated string
	err := rows.Scan(&c.rowid, &job.DeliveryID, &c.webhook, &job.Attempt, &created,
		&job.EventID, &job.EventType, &job.ContactID, &job.Payload, &eventCreated)
	job.Attempt++
	job.Created, job.EventCreated = stamp.Parse(created), stamp.Parse(eventCreated)
	return c, err
}

// lease marks the chosen deliveries as claimed and returns the ids of those that were still free.
func (q *SQLiteQueue) lease(chosen []claimed, now string, until time.Time) (map[string]bool, error) {
	rowids := make([]int64, len(chosen))
	for i, c := range chosen {
		rowids[i] = c.rowid
	}
	encoded, err := list(rowids)
	if err != nil {
		return nil, err
	}
	var leased map[string]bool
	_, err = q.commit(func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		leased, err = idsOf(tx.Query(freeSQL, encoded, now))
		return []sqlite.Statement{statement(leaseSQL, stamp.Stored(until), encoded, now)}, err
	})
	return leased, err
}

// endpoints reads the webhooks of the chosen deliveries.
func (q *SQLiteQueue) endpoints(ctx context.Context, chosen []claimed, now time.Time) (map[string]*Endpoint, error) {
	ids := make([]string, 0, len(chosen))
	for _, c := range chosen {
		ids = append(ids, c.webhook)
	}
	slices.Sort(ids)
	encoded, err := list(slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	found := map[string]*Endpoint{}
	err = q.read(ctx, endpointsSQL, func(rows *sql.Rows) error {
		endpoint, err := q.scanEndpoint(rows, now)
		if err == nil {
			found[endpoint.WebhookID] = endpoint
		}
		return err
	}, encoded)
	return found, err
}

func (q *SQLiteQueue) scanEndpoint(rows *sql.Rows, now time.Time) (*Endpoint, error) {
	endpoint := &Endpoint{}
	var headers sql.NullString
	var current, previous, until string
	err := rows.Scan(&endpoint.WebhookID, &endpoint.TenantID, &endpoint.URL, &headers, &current, &previous, &until)
	if err != nil {
		return nil, err
	}
	endpoint.Headers = ownHeaders(headers.String)
	stored := []string{current}
	if previous != "" && until > stamp.Stored(now) {
		stored = append(stored, previous)
	}
	for _, s := range stored {
		plain, err := secret.Open(q.app, s)
		if err != nil {
			endpoint.Fault = err
			break
		}
		endpoint.Secrets = append(endpoint.Secrets, plain)
	}
	return endpoint, nil
}

// ownHeaders reads a webhook's own headers. The sender's are left out: saving a webhook refuses them, but a row can
// come from elsewhere.
func ownHeaders(stored string) map[string]string {
	if stored == "" || stored == "null" {
		return nil
	}
	var sent map[string]string
	if json.Unmarshal([]byte(stored), &sent) != nil {
		return nil
	}
	headers := make(map[string]string, len(sent))
	for name, value := range sent {
		if name = textproto.CanonicalMIMEHeaderKey(name); !slices.Contains(reservedHeaders, name) {
			headers[name] = value
		}
	}
	return headers
}
