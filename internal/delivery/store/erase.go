package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/sqlite"
)

// An erased event keeps the data that is not personal: its id, type and time, the contact's id, which tells receivers
// of contact.deleted what to delete, and the id of the contact that it was merged into. All but the last come from
// columns, because the payload may be nested too deep for SQLite. json_patch omits NULL.
const redactedPayload = `json_patch(json_object('id', '` + event.IDPrefix + `' || id,
	'type', type, 'timestamp', replace(created, ' ', 'T'),
	'data', json_object('id', contact), 'erased', json('true')),
	json_object('mergedInto', CASE WHEN json_valid(payload) THEN json_extract(payload, '$.mergedInto') END))`

// isErased returns the condition that a payload column is redacted. A payload that SQLite cannot parse, beyond
// 1,000 levels, is not.
func isErased(payload string) string {
	return "(CASE WHEN json_valid(" + payload + ") THEN json_extract(" + payload + ", '$.erased') END IS 1)"
}

// redactEventsSQL redacts the events that the condition after it selects, unless a delivery of theirs is pending or
// yet to be written.
var redactEventsSQL = `UPDATE events SET payload = ` + redactedPayload + `
WHERE contact != '' AND NOT ` + isErased("payload") + `
	AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = events.id AND d.status = 'pending')
	AND ` + fannedOutSQL("events") + ` AND `

// redactAttemptsSQL redacts the attempts of the deliveries in the list after it.
const redactAttemptsSQL = `UPDATE delivery_attempts SET responseHeaders = '{}', responseBody = ''
WHERE (responseBody != '' OR responseHeaders != '{}') AND delivery IN `

// finishedOfSQL lists the finished deliveries of the events ?1.
const finishedOfSQL = `(SELECT id FROM deliveries
WHERE event IN (SELECT value FROM json_each(?1)) AND status != 'pending')`

const (
	// contactAttemptsSQL lists up to ?2 attempts to redact of the finished deliveries of events of the contacts ?1.
	contactAttemptsSQL = `SELECT a.id FROM json_each(?1) j CROSS JOIN events e ON e.contact = j.value
CROSS JOIN deliveries d ON d.event = e.id AND d.status != 'pending'
CROSS JOIN delivery_attempts a ON a.delivery = d.id AND (a.responseBody != '' OR a.responseHeaders != '{}') LIMIT ?2`

	// redactSomeSQL redacts the attempts ?1.
	redactSomeSQL = `UPDATE delivery_attempts SET responseHeaders = '{}', responseBody = ''
WHERE id IN (SELECT value FROM json_each(?1))`

	attemptsPage = 10_000
)

// erasedContactsSQL returns the contacts in ?1 that do not exist.
const erasedContactsSQL = `SELECT j.value FROM json_each(?1) j
WHERE NOT EXISTS (SELECT 1 FROM contacts c WHERE c.id = j.value)`

// contactEventsSQL lists the first ?3 events of the contacts ?1, one contact after the other, with the contacts'
// indexes: of the first one, those after the row ?2.
const contactEventsSQL = `SELECT j.key, e.rowid, e.id FROM json_each(?1) j
CROSS JOIN events e ON e.contact = j.value AND e.rowid > iif(j.key = 0, ?2, 0) LIMIT ?3`

// fullyFannedOutSQL returns the indexes of those of the contacts ?1 whose events have all their deliveries.
var fullyFannedOutSQL = `SELECT j.key FROM json_each(?1) j
WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.contact = j.value AND NOT ` + fannedOutSQL("e") + `)`

// FullyFannedOut returns the indexes of those of the contacts whose events are all fanned out.
func (s *Store) FullyFannedOut(contacts []string) ([]int, error) {
	indexes, err := sqlite.Values[int](sqlite.Direct(s.app.ConcurrentDB()), fullyFannedOutSQL, sqlite.List(contacts))
	if err != nil {
		return nil, fmt.Errorf("looking for the events of %d contacts: %w", len(contacts), err)
	}
	return indexes, nil
}

// EraseContacts redacts what is stored about deleted contacts: the payloads of their events, contact.deleted
// included, and the responses to their deliveries, if they were delivered or have failed. A pending delivery is
// redacted when it ends; events that are not fanned out yet are not redacted.
func (s *Store) EraseContacts(ctx context.Context, ids []string) error {
	err := s.eraseEvents(ctx, ids)
	if err == nil {
		err = s.eraseAttempts(ctx, ids)
	}
	if err != nil {
		return fmt.Errorf("redacting the deliveries of deleted contacts: %w", err)
	}
	return nil
}

func (s *Store) eraseEvents(ctx context.Context, contacts []string) error {
	last := int64(0) // row of the first contact
	return sqlite.InChunks(ctx, s.app, func(tx core.App, limit int) (int, error) {
		var events []string
		contact, row := 0, last
		err := sqlite.Each(sqlite.ReaderOf(tx), contactEventsSQL, func(rows *sql.Rows) error {
			id := ""
			err := rows.Scan(&contact, &row, &id)
			events = append(events, id)
			return err
		}, sqlite.List(contacts), last, limit)
		if err == nil && len(events) > 0 {
			contacts, last = contacts[contact:], row
			_, err = sqlite.Run(tx, []sqlite.Statement{redactEvents(events)})
		}
		return len(events), err
	})
}

// eraseAttempts finds the attempts without the writer lock, because nothing limits how many a delivery has.
func (s *Store) eraseAttempts(ctx context.Context, contacts []string) error {
	for more := true; more; {
		attempts, err := sqlite.Values[string](sqlite.Direct(s.app.ConcurrentDB()), contactAttemptsSQL,
			sqlite.List(contacts), attemptsPage)
		if err != nil {
			return err
		}
		more = len(attempts) == attemptsPage
		err = sqlite.InChunks(ctx, s.app, func(tx core.App, limit int) (int, error) {
			some := attempts[:min(limit, len(attempts))]
			attempts = attempts[len(some):]
			_, err := sqlite.Exec(tx, redactSomeSQL, sqlite.List(some))
			return len(some), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// redactEvents returns the statement that redacts events.
func redactEvents(events []string) sqlite.Statement {
	return statement(redactEventsSQL+"id IN (SELECT value FROM json_each(?1))", sqlite.List(events))
}

// webhookDeliveriesSQL lists the first ?2 deliveries to the webhook ?1, with the events of deleted contacts
// that wait for them.
const webhookDeliveriesSQL = `SELECT d.id, CASE WHEN d.status = 'pending' AND e.contact != ''
	AND NOT EXISTS (SELECT 1 FROM contacts c WHERE c.id = e.contact) THEN e.id ELSE '' END
FROM deliveries d LEFT JOIN events e ON e.id = d.event WHERE d.webhook = ?1 ORDER BY d.created LIMIT ?2`

// DeleteDeliveries deletes at most limit deliveries of a deleted webhook, and returns how many it found. The events
// stay; what they say about erased contacts is redacted, unless other webhooks are still to receive it. A cascade
// record by record takes minutes for a busy webhook.
func DeleteDeliveries(tx core.App, webhookID string, limit int) (found int, err error) {
	var deliveries, orphaned []string
	err = sqlite.Each(sqlite.ReaderOf(tx), webhookDeliveriesSQL, func(rows *sql.Rows) error {
		var id string
		var event sql.NullString
		err := rows.Scan(&id, &event)
		deliveries = append(deliveries, id)
		if event.String != "" {
			orphaned = append(orphaned, event.String)
		}
		return err
	}, webhookID, limit)
	done := true
	if err == nil && len(deliveries) > 0 {
		done, err = deleteDeliveries(tx, deliveries)
	}
	if err == nil && done && len(orphaned) > 0 { // most attempts were redacted when they ended
		_, err = sqlite.Run(tx, []sqlite.Statement{
			redactEvents(orphaned), statement(redactAttemptsSQL+finishedOfSQL, sqlite.List(orphaned)),
		})
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("deleting deliveries of the webhook %s: %w", webhookID, err)
	case !done:
		return limit, nil // so that there is another chunk
	}
	return len(deliveries), nil
}

// deleteDeliveries deletes deliveries, unless they have too many attempts for one chunk: then it only deletes some of
// these, and is not done.
func deleteDeliveries(tx core.App, ids []string) (done bool, err error) {
	encoded := sqlite.List(ids)
	done, err = inOneChunk(tx, deleteSomeAttempts+"SELECT value FROM json_each(?1)"+upToSome, encoded)
	if err == nil && done {
		_, err = sqlite.Exec(tx, "DELETE FROM deliveries WHERE id IN (SELECT value FROM json_each(?1))", encoded)
	}
	return done, err
}
