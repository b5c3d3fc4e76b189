package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const (
	// fetchBytes is how many bytes of payloads a fetch reads, and one event.
	fetchBytes = 4 << 20
	// fetchSteps is how many steps the filters of a tenant may take in a fetch: 5 ms.
	fetchSteps = 50_000
	// fetchTenants is how many tenants at most share the deliveries of a fetch equally.
	fetchTenants = 4
)

// newSQL reads the first ?1 events after the cursor, and after the event ?2. If no webhook is enabled, no row follows NULL.
const newSQL = `SELECT e.id, e.tenant, e.type, e.contact, e.created, e.payload FROM events e
WHERE e.rowid > CASE WHEN EXISTS (SELECT 1 FROM webhooks WHERE disabled = 0)
	THEN max(` + cursorRow + `, coalesce((SELECT rowid FROM events WHERE id = ?2), 0)) END ORDER BY e.rowid LIMIT ?1`

// later stands for the webhooks of an event whose deliveries are left to a later fetch, or to fan-out.
const later = "-"

var errEnough = errors.New("enough is read")

// unsent is an event after the cursor.
type unsent struct {
	newEvent
	payload []byte
}

// fetchNew reads deliveries of events after the cursor, and reports whether there may be more. It reads in one transaction, so that no webhook
// changes in between: a change fans out first. A tenant gets no more than its share, so that the events of others are reached.
func (s *Store) fetchNew(fetch delivery.Fetch) (all []delivery.NewJob, more bool, err error) {
	db, open := s.app.ConcurrentDB().(*dbx.DB)
	if fetch.New == 0 || !open || db == nil {
		return nil, false, nil
	}
	tx, err := db.DB().BeginTx(context.Background(), nil) // with another context, the driver needs a goroutine for each query
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	events, more, err := readUnsent(tx, fetch)
	if err != nil || len(events) == 0 {
		return nil, false, err
	}
	recipients, err := s.recipients(tx, false)
	if err != nil {
		return nil, false, err
	}
	shares := newShares(events, fetch.New)
	for i, e := range events {
		if len(all) >= fetch.New {
			more = more || i < len(events)
			break
		}
		var webhooks []string
		if !shares.used(e.tenant) {
			var aside bool
			if webhooks, aside, err = recipients.of(e.newEvent); err != nil {
				return nil, false, err
			}
			shares.use(e.tenant, len(webhooks), aside || recipients.spent[e.tenant] > fetchSteps)
			if aside {
				webhooks = []string{later}
			}
		} else if e.kind != event.WebhookPing {
			webhooks = []string{later}
		}
		all = append(all, e.jobs(webhooks, fetch.Now)...)
	}
	return all, more, markBehind(tx, all)
}

// readUnsent reads events, and reports whether there may be more.
func readUnsent(tx sqlite.Reader, fetch delivery.Fetch) (events []unsent, more bool, err error) {
	size := 0
	err = sqlite.Each(tx, newSQL, func(rows *sql.Rows) error {
		if size > fetchBytes {
			return errEnough
		}
		var e unsent
		err := rows.Scan(&e.id, &e.tenant, &e.kind, &e.contact, &e.created, &e.payload)
		events = append(events, e)
		size += len(e.payload)
		return err
	}, fetch.New, fetch.After)
	if errors.Is(err, errEnough) {
		return events, true, nil
	}
	return events, len(events) == fetch.New, err
}

// jobs returns the deliveries of an event, or one without a webhook if nobody wants it.
func (e unsent) jobs(webhooks []string, now time.Time) []delivery.NewJob {
	if len(webhooks) == 0 {
		webhooks = []string{""}
	}
	jobs := make([]delivery.NewJob, len(webhooks))
	for i, webhook := range webhooks {
		jobs[i] = delivery.NewJob{Webhook: webhook, Job: &delivery.Job{
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
		if n.ContactID != "" && n.Webhook != "" && n.Webhook != later {
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

// shares are how many deliveries of a fetch each tenant may still have. What has no share left comes with a later fetch.
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

func (s shares) used(tenant string) bool { return s.got[tenant] >= s.each }

// use counts deliveries of a tenant. With all, nothing is left of its share.
func (s shares) use(tenant string, deliveries int, all bool) {
	if s.got[tenant] += deliveries; all {
		s.got[tenant] = s.each
	}
}
