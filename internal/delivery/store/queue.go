package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// The pending deliveries of one contact to one webhook are a queue, in the order of their events. Only its head is due:
// a delivery behind one that was never attempted is blocked. After the first attempt, the next delivery is due when
// that one ends, or a minute after its creation. So a fetch reads due deliveries and never has to search.

// holdTime is how long a failing delivery blocks the next one of its contact, from its creation.
const holdTime = time.Minute

// before selects a column of the delivery in front of the row d, NULL if d is the head of its queue.
func before(d, column string) string {
	return "(SELECT p." + column + " FROM deliveries p WHERE p.webhook = " +
		d + ".webhook AND p.contact = " + d + ".contact " +
		"AND p.contact != '' AND p.status = 'pending' AND p.rowid < " + d + ".rowid ORDER BY p.rowid DESC LIMIT 1)"
}

// enqueueing returns a statement that sets at ?1 when the deliveries are due in their queues. members selects their row
// ids from the list ?2. Attempted deliveries and due heads of queues stay unchanged.
func enqueueing(members string) string {
	return `UPDATE deliveries SET (blocked, nextAttempt) = (
	SELECT f.attempts = 0, CASE
		WHEN f.attempts = 0 THEN deliveries.nextAttempt
		WHEN f.free > ?1 THEN f.free
		ELSE min(deliveries.nextAttempt, ?1) END
	FROM (
		SELECT g.attempts, strftime('%Y-%m-%d %H:%M:%fZ', g.created,
			'` + fmt.Sprintf("+%d seconds", int(holdTime.Seconds())) + `') AS free
		FROM deliveries g WHERE g.rowid = ` + before("deliveries", "rowid") + `
	) f
	UNION ALL SELECT 0, min(deliveries.nextAttempt, ?1) LIMIT 1)
WHERE rowid IN (` + members + `) AND contact != '' AND status = 'pending' AND attempts = 0
	AND (blocked OR nextAttempt > ?1 OR ` + before("deliveries", "rowid") + ` IS NOT NULL)`
}

const (
	// ofEvents are the deliveries of the events in ?2.
	ofEvents = "SELECT d.rowid FROM json_each(?2) j CROSS JOIN deliveries d ON d.event = j.value"

	// ofNext are the ones after the deliveries in ?2.
	ofNext = `SELECT (
		SELECT n.rowid FROM deliveries n WHERE n.webhook = d.webhook AND n.contact = d.contact AND n.contact != ''
			AND n.status = 'pending' AND n.rowid > d.rowid ORDER BY n.rowid LIMIT 1
	) FROM json_each(?2) j CROSS JOIN deliveries d ON d.id = j.value`

	// ofRequeued are the deliveries in ?2, and the ones after them.
	ofRequeued = "SELECT d.rowid FROM json_each(?2) j CROSS JOIN deliveries d ON d.id = j.value UNION " + ofNext
)

// occupiedSQL returns the indexes of the queues in ?1, each a webhook and a contact, that have a pending delivery.
const occupiedSQL = `SELECT j.key FROM json_each(?1) j
WHERE EXISTS (SELECT 1 FROM deliveries p WHERE p.webhook = j.value ->> 0 AND p.contact = j.value ->> 1
	AND p.contact != '' AND p.status = 'pending')`

// behindOthers returns the events of the new deliveries that are behind other pending or new ones.
func behindOthers(tx sqlite.Reader, added []newDelivery) (events []string, err error) {
	var queues [][2]string
	var of []string // their events
	seen := make(map[[2]string]bool, len(added))
	for _, d := range added {
		queue := [2]string{d.webhook, d.contact}
		if d.contact == "" {
			continue
		}
		if seen[queue] {
			events = append(events, d.id)
		} else {
			queues, of = append(queues, queue), append(of, d.id)
		}
		seen[queue] = true
	}
	if len(queues) == 0 {
		return nil, nil
	}
	occupied, err := sqlite.Values[int](tx, occupiedSQL, sqlite.List(queues))
	for _, number := range occupied {
		events = append(events, of[number])
	}
	slices.Sort(events)
	return slices.Compact(events), err
}

// These statements enqueue the deliveries of new events, those behind attempted or finished ones, and redelivered ones,
// by the lists of ids in ?2.
var (
	enqueueEventsSQL   = enqueueing(ofEvents)
	enqueueNextSQL     = enqueueing(ofNext)
	enqueueRequeuedSQL = enqueueing(ofRequeued)
)

// enqueue returns one of these statements.
func enqueue(text string, ids []string, now string) sqlite.Statement {
	return statement(text, now, sqlite.List(ids))
}

// overSQL ends the delivery ?1.
const overSQL = "UPDATE deliveries SET status = 'failed', updated = ?2 WHERE id = ?1 AND status = 'pending'"

// Dequeue takes a delivery that is about to be deleted out of its contact's queue, so that the next one does not wait
// for ever.
func Dequeue(tx core.App, deliveryID string) error {
	now := stamp.Stored(time.Now())
	next := enqueue(enqueueNextSQL, []string{deliveryID}, now)
	if _, err := sqlite.Run(tx, []sqlite.Statement{statement(overSQL, deliveryID, now), next}); err != nil {
		return fmt.Errorf("taking the delivery %s out of its queue: %w", deliveryID, err)
	}
	return nil
}
