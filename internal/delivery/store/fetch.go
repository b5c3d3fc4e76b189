package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/webhook"
)

// dueSQL reads the first ?3 deliveries that are due at ?2 of each of the webhooks in ?1, without those in ?4.
const dueSQL = `SELECT d.nextAttempt, e.tenant, d.id, d.webhook, d.attempts, d.created, e.id, e.type, e.contact, e.payload, e.created
FROM json_each(?1) j
CROSS JOIN deliveries d ON d.rowid IN (
	SELECT q.rowid FROM deliveries q
	WHERE q.webhook = j.value AND q.status = 'pending' AND q.blocked = 0 AND q.nextAttempt <= ?2
		AND q.id NOT IN (SELECT value FROM json_each(?4))
	ORDER BY q.nextAttempt, q.rowid LIMIT ?3)
CROSS JOIN events e ON e.id = d.event`

// endpointsSQL reads the webhooks in ?1 of tenants that exist, in the order of scanEndpoint, and openSQL those of them that may be sent to.
var (
	endpointsSQL = `SELECT w.id, w.tenant, w.url, w.sealedHeaders, w.maxPerSecond, w.memberOwned, w.secret, w.previousSecret, w.previousSecretUntil, w.olderSecrets
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
func (s *Store) Fetch(_ context.Context, fetch delivery.Fetch) (batch delivery.Fetched, err error) {
	due, err := s.fetchDue(fetch)
	if err == nil {
		batch.New, batch.More, err = s.fetchNew(fetch)
	}
	if err != nil {
		return delivery.Fetched{}, fmt.Errorf("fetching deliveries: %w", err)
	}
	var webhooks []string
	for _, d := range due {
		webhooks = append(webhooks, d.webhook)
	}
	for _, n := range batch.New {
		webhooks = append(webhooks, n.Webhook)
	}
	slices.Sort(webhooks)
	endpoints, err := s.endpoints(openSQL, slices.Compact(webhooks), fetch.Now)
	if err != nil {
		return delivery.Fetched{}, fmt.Errorf("reading the endpoints of deliveries: %w", err)
	}
	for _, d := range due {
		if endpoint := endpoints[d.webhook]; endpoint != nil {
			d.Endpoint = endpoint.For(d.tenant)
			batch.Due = append(batch.Due, d.Job)
		}
	}
	for _, n := range batch.New {
		n.Endpoint = endpoints[n.Webhook]
		if n.Endpoint != nil {
			n.DeliveryID = deliveryID(n.EventCreated, n.EventID, n.Webhook)
		}
	}
	return batch, nil
}

// fetchDue reads the due deliveries of each webhook in the order of their due times. Webhooks with the same limit share a query, because a
// LIMIT cannot depend on a row.
func (s *Store) fetchDue(fetch delivery.Fetch) (due []dueJob, err error) {
	byNumber := map[int][]string{}
	for webhook, n := range fetch.Due {
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
	err := rows.Scan(&d.nextAttempt, &d.tenant, &d.DeliveryID, &d.webhook, &d.Attempt, &created, &d.EventID, &d.EventType, &d.ContactID, &d.Payload, &eventCreated)
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
	err := rows.Scan(&endpoint.WebhookID, &endpoint.TenantID, &endpoint.URL, &headers, &endpoint.MaxPerSecond, &endpoint.MemberOwned,
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

const (
	// fetchBytes is how many bytes of payloads a fetch reads, and one event.
	fetchBytes = 4 << 20
	// fetchSteps is how many steps the filters of a tenant may take in a fetch: 5 ms.
	fetchSteps = 50_000
	// fetchTenants is how many tenants at most share the deliveries of a fetch equally.
	fetchTenants = 4
)

// newSQL reads the first ?1 events after the cursor, and after the event ?2. If no webhook is enabled, no row follows NULL.
const newSQL = `SELECT e.id, e.tenant, e.type, e.contact, e.created, e.rowid, e.payload FROM events e
WHERE e.rowid > CASE WHEN EXISTS (SELECT 1 FROM webhooks WHERE disabled = 0)
	THEN max(` + cursorRow + `, coalesce((SELECT rowid FROM events WHERE id = ?2), 0)) END ORDER BY e.rowid LIMIT ?1`

var errEnough = errors.New("enough is read")

// unsent is an event after the cursor.
type unsent struct {
	newEvent
	payload []byte
}

// fetchNew reads deliveries of events after the cursor, and reports whether there may be more. A tenant gets no more than its share, so that
// the events of others are reached.
func (s *Store) fetchNew(fetch delivery.Fetch) (all []delivery.NewJob, more bool, err error) {
	if fetch.New == 0 {
		return nil, false, nil
	}
	err = s.snapshot(func(tx sqlite.Reader) error {
		events, left, err := readUnsent(tx, fetch)
		if more = left; err != nil || len(events) == 0 {
			return err
		}
		recipients, err := s.recipients(tx, ahead)
		if err != nil {
			return err
		}
		shares := newShares(events, fetch.New)
		for _, e := range events {
			if len(all) >= fetch.New {
				more = true
				break
			}
			webhooks, later, err := shares.grant(recipients, e)
			if err != nil {
				return err
			}
			all = append(all, e.jobs(webhooks, later, fetch.Now)...)
		}
		return markBehind(tx, all)
	})
	return all, more, err
}

// readUnsent reads events, and reports whether there may be more.
func readUnsent(tx sqlite.Reader, fetch delivery.Fetch) (events []unsent, more bool, err error) {
	size := 0
	err = sqlite.Each(tx, newSQL, func(rows *sql.Rows) error {
		if size > fetchBytes {
			return errEnough
		}
		var e unsent
		err := rows.Scan(&e.id, &e.tenant, &e.kind, &e.contact, &e.created, &e.row, &e.payload)
		events = append(events, e)
		size += len(e.payload)
		return err
	}, fetch.New, fetch.After)
	if errors.Is(err, errEnough) {
		return events, true, nil
	}
	return events, len(events) == fetch.New, err
}

// jobs returns the deliveries of an event, or one without a webhook if nobody wants it or if they come later.
func (e unsent) jobs(webhooks []string, later bool, now time.Time) []delivery.NewJob {
	if len(webhooks) == 0 {
		webhooks = []string{""}
	}
	jobs := make([]delivery.NewJob, len(webhooks))
	for i, webhook := range webhooks {
		jobs[i] = delivery.NewJob{Webhook: webhook, Later: later, Job: &delivery.Job{
			Attempt: 1, Created: now, EventID: e.id, EventType: string(e.kind), EventCreated: stamp.Parse(e.created), ContactID: e.contact, Payload: e.payload,
		}}
	}
	return jobs
}

// markBehind marks the deliveries whose queues have a pending one.
func markBehind(tx sqlite.Reader, all []delivery.NewJob) error {
	var queues [][2]string
	var numbers []int
	for i, n := range all {
		if n.ContactID != "" && n.Webhook != "" {
			queues, numbers = append(queues, [2]string{n.Webhook, n.ContactID}), append(numbers, i)
		}
	}
	if len(queues) == 0 {
		return nil
	}
	occupied, err := sqlite.Values[int](tx, occupiedSQL, sqlite.List(queues))
	for _, number := range occupied {
		all[numbers[number]].Behind = true
	}
	return err
}

// shares are how many deliveries of a fetch each tenant may still have. Deliveries beyond a share wait for a later fetch.
type shares struct {
	each int
	got  map[string]int // by tenant
}

func newShares(events []unsent, deliveries int) shares {
	s := shares{got: map[string]int{}}
	for _, e := range events {
		s.got[e.tenant] = 0
	}
	s.each = max(1, deliveries/min(len(s.got), fetchTenants))
	return s
}

// grant returns the webhooks that receive an event, unless its deliveries are left to a later fetch or to fan-out.
func (s shares) grant(recipients *recipients, e unsent) (webhooks []string, later bool, err error) {
	if s.got[e.tenant] >= s.each {
		return nil, e.kind != event.WebhookPing, nil
	}
	webhooks, aside, err := recipients.of(e.newEvent)
	if s.got[e.tenant] += len(webhooks); aside || recipients.spent[e.tenant] > fetchSteps {
		s.got[e.tenant] = s.each
	}
	return webhooks, aside, err
}
