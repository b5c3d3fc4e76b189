package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/stamp"
)

// What happened just now is sent before it is placed, so that its deliveries are written once, with their results. What has not
// been answered when the event is placed is placed as a claimed delivery.

// mostUnplaced is how many rows unplacedSQL reads: an event that several webhooks want has several.
const mostUnplaced = 1_000

// unplacedSQL reads the first ?1 of the deliveries that the events behind the position, and behind the event ?2, are to
// become, in their order; a row without a webhook is of an event that none wants. It is one statement, so that no webhook
// changes in between: whoever changes one places what happened before. occupied tells whether another delivery of the
// contact to the webhook is pending. Where there is no webhook no row follows NULL; SQLite would ask for each event whether there is one.
var unplacedSQL = `SELECT e.id, e.tenant, e.type, e.contact, e.payload, e.created, coalesce(w.id, ''), w.id IS NOT NULL AND EXISTS (
	SELECT 1 FROM deliveries p WHERE p.webhook = w.id AND p.contact = e.contact AND p.contact != '' AND p.status = 'pending')
FROM events e LEFT JOIN webhooks w ON w.tenant = e.tenant AND w.disabled = 0 AND e.type != '` + string(event.WebhookPing) + `' AND ` + fmt.Sprintf(wanted, "e.type") + `
	AND EXISTS (SELECT 1 FROM tenants t WHERE t.id = e.tenant AND t.apiEnabled = 1)
WHERE e.rowid > CASE WHEN EXISTS (SELECT 1 FROM webhooks WHERE disabled = 0)
	THEN max(` + positionRow + `, coalesce((SELECT rowid FROM events WHERE id = ?2), 0)) END ORDER BY e.rowid LIMIT ?1`

// fresh is a delivery that an event behind the position is to become; without a webhook, an event that none wants.
type fresh struct {
	job             *delivery.Job
	webhook, tenant string
	occupied        bool
}

// unplaced reads what may be claimed without having been placed. s.claiming is held.
func (s *Store) unplaced(ctx context.Context) (all []fresh, err error) {
	err = s.read(ctx, unplacedSQL, func(rows *sql.Rows) error {
		f := fresh{job: &delivery.Job{Attempt: 1, Unplaced: true}}
		var created string
		err := rows.Scan(&f.job.EventID, &f.tenant, &f.job.EventType, &f.job.ContactID, &f.job.Payload, &created, &f.webhook, &f.occupied)
		f.job.EventCreated = stamp.Parse(created)
		all = append(all, f)
		return err
	}, mostUnplaced, s.considered)
	return all, err
}

// consider remembers up to which event nothing is left to be claimed unplaced. "" changes nothing. s.claiming is held.
func (s *Store) consider(event string) {
	if event != "" {
		s.considered = event
	}
}

// addFresh adds to the endpoints with something due those that want new events, and returns which ones were there before.
func addFresh(due []ready, all []fresh, now string) (both []ready, placed map[string]bool) {
	placed = make(map[string]bool, len(due))
	for _, r := range due {
		placed[r.webhook] = true
	}
	seen := map[string]bool{"": true}
	for _, f := range all {
		if !seen[f.webhook] && !placed[f.webhook] {
			due = append(due, ready{webhook: f.webhook, tenant: f.tenant, first: now})
		}
		seen[f.webhook] = true
	}
	return due, placed
}

// chooseUnplaced takes up to the granted number of each endpoint, which is what those that are due have left of it, in the order of the
// events, and never one in front of which another of the contact waits. Once the chosen ones are claimed, no event up to
// considered has anything left to claim; "" means none. s.claiming is held.
func (s *Store) chooseUnplaced(all []fresh, granted map[string]int, now time.Time) (chosen []claimed, considered string) {
	lines := s.held.lines()
	full := map[string]bool{} // endpoints of which something was left: what follows waits behind it
	left := len(all) == mostUnplaced
	whole := true
	for i, f := range all {
		if f.webhook != "" && s.held.unplaced(f.webhook, f.job.EventID) == nil {
			line := [2]string{f.webhook, f.job.ContactID}
			inLine := f.job.ContactID != "" && (f.occupied || lines[line])
			switch {
			case inLine:
				whole = false
			case full[f.webhook], granted[f.webhook] == 0:
				full[f.webhook], whole = true, false
			default:
				granted[f.webhook]--
				f.job.DeliveryID, f.job.Created = deliveryID(f.job.EventCreated, f.job.EventID, f.webhook), now
				chosen = append(chosen, claimed{job: f.job, webhook: f.webhook})
			}
			lines[line] = true
		}
		if last := i+1 == len(all); whole && (!last || !left) && (last || all[i+1].job.EventID != f.job.EventID) {
			considered = f.job.EventID
		}
	}
	return chosen, considered
}
