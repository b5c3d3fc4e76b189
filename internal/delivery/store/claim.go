package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/secret"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// claimed is a delivery that a claim has chosen, with its place in the table.
type claimed struct {
	job     *delivery.Job
	rowid   int64
	webhook string
}

// Claim implements delivery.Queue.
//
// It reads first, without a lock: which endpoints have something due, where that is not known, and which events are new, then a few
// deliveries of those whose turn it is, then the endpoints themselves. One statement leases what is still as it was read, or they are
// held in memory.
func (s *Store) Claim(ctx context.Context, options delivery.ClaimOptions) ([]*delivery.Job, error) {
	s.claiming.Lock()
	defer s.claiming.Unlock()
	if options.Exclusive {
		if err := s.tellAtRest(); err != nil {
			return nil, err
		}
	}
	jobs, err := s.claim(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("claiming deliveries: %w", err)
	}
	return jobs, nil
}

func (s *Store) claim(ctx context.Context, options delivery.ClaimOptions) ([]*delivery.Job, error) {
	now := stamp.Stored(options.Now)
	due, version, err := s.ready(ctx, now)
	if err != nil {
		return nil, err
	}
	var all []fresh
	if options.Exclusive && options.Unplaced {
		if all, err = s.unplaced(ctx); err != nil {
			return nil, err
		}
	}
	due, placed := addFresh(due, all, now)
	s.mu.Lock()
	granted := s.fair.grant(due, options)
	s.mu.Unlock()
	chosen, err := s.choose(ctx, granted, placed, options.Now)
	if err != nil {
		return nil, err
	}
	s.unready(granted, chosen, version)
	for _, c := range chosen {
		granted[c.webhook]--
	}
	unplaced, considered := s.chooseUnplaced(all, granted, options.Now)
	chosen = append(chosen, unplaced...)
	if len(chosen) == 0 {
		s.consider(considered)
		return nil, nil
	}
	endpoints, err := s.endpoints(ctx, openSQL, chosen, options.Now)
	if err != nil {
		return nil, err
	}
	granting := len(chosen)
	chosen = slices.DeleteFunc(chosen, func(c claimed) bool { return endpoints[c.webhook] == nil })
	if len(chosen) == granting { // nothing that was chosen stays unclaimed
		s.consider(considered)
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	// to the millisecond, as it is stored: the claim is told by it
	lease := options.Now.Add(options.Lease).UTC().Truncate(time.Millisecond)
	for _, c := range chosen { // whoever places reads what is held
		c.job.Lease, c.job.Exclusive, c.job.Endpoint = lease, options.Exclusive, endpoints[c.webhook]
	}
	if options.Exclusive {
		chosen = s.hold(chosen, endpoints)
	} else if chosen, err = s.lease(chosen, now, lease); err != nil {
		return nil, err
	}
	jobs := make([]*delivery.Job, len(chosen))
	for i, c := range chosen {
		jobs[i] = c.job
	}
	return jobs, nil
}

// choose reads up to the granted number of deliveries of each endpoint that has some placed. Endpoints with the same number share a
// statement, because a LIMIT cannot depend on a row.
func (s *Store) choose(ctx context.Context, granted map[string]int, placed map[string]bool, now time.Time) ([]claimed, error) {
	byNumber := map[int][]string{}
	for webhook, n := range granted {
		if placed[webhook] {
			byNumber[n] = append(byNumber[n], webhook)
		}
	}
	var chosen []claimed
	for n, webhooks := range byNumber {
		wanted, err := list(webhooks)
		if err != nil {
			return nil, err
		}
		flying, err := list(s.held.rows(webhooks))
		if err != nil {
			return nil, err
		}
		err = s.read(ctx, chooseSQL, func(rows *sql.Rows) error {
			c, err := scanClaimed(rows)
			chosen = append(chosen, c)
			return err
		}, wanted, stamp.Stored(now), n, flying)
		if err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

func scanClaimed(rows *sql.Rows) (claimed, error) {
	job := &delivery.Job{}
	c := claimed{job: job}
	var created, eventCreated string
	err := rows.Scan(&c.rowid, &job.DeliveryID, &c.webhook, &job.Attempt, &created,
		&job.EventID, &job.EventType, &job.ContactID, &job.Payload, &eventCreated)
	job.Attempt++
	job.Created, job.EventCreated = stamp.Parse(created), stamp.Parse(eventCreated)
	return c, err
}

// lease marks the chosen deliveries as claimed and returns those that were still free.
func (s *Store) lease(chosen []claimed, now string, until time.Time) ([]claimed, error) {
	rowids := make([]int64, len(chosen))
	for i, c := range chosen {
		rowids[i] = c.rowid
	}
	encoded, err := list(rowids)
	if err != nil {
		return nil, err
	}
	var leased map[string]bool
	_, err = s.commit(func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		leased, err = idsOf(tx, freeSQL, encoded, now)
		return []sqlite.Statement{statement(leaseSQL, stamp.Stored(until), encoded, now)}, err
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(chosen, func(c claimed) bool { return !leased[c.job.DeliveryID] }), nil
}

// endpoints reads the webhooks of the chosen deliveries by a query such as endpointsSQL.
func (s *Store) endpoints(ctx context.Context, query string, chosen []claimed, now time.Time) (map[string]*delivery.Endpoint, error) {
	ids := make([]string, 0, len(chosen))
	for _, c := range chosen {
		ids = append(ids, c.webhook)
	}
	slices.Sort(ids)
	encoded, err := list(slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	found := map[string]*delivery.Endpoint{}
	err = s.read(ctx, query, func(rows *sql.Rows) error {
		endpoint, err := s.scanEndpoint(rows, now)
		if err == nil {
			found[endpoint.WebhookID] = endpoint
		}
		return err
	}, encoded)
	return found, err
}

func (s *Store) scanEndpoint(rows *sql.Rows, now time.Time) (*delivery.Endpoint, error) {
	endpoint := &delivery.Endpoint{}
	var headers sql.NullString
	var current, previous, until string
	err := rows.Scan(&endpoint.WebhookID, &endpoint.TenantID, &endpoint.URL, &headers, &current, &previous, &until)
	if err != nil {
		return nil, err
	}
	endpoint.Headers = delivery.OwnHeaders(headers.String)
	stored := []string{current}
	if previous != "" && until > stamp.Stored(now) {
		stored = append(stored, previous)
	}
	for _, sealed := range stored {
		plain, err := secret.Open(s.app, sealed)
		if err != nil {
			endpoint.Fault = err
			break
		}
		endpoint.Secrets = append(endpoint.Secrets, plain)
	}
	return endpoint, nil
}
