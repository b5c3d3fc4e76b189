package delivery

import (
	"strconv"
	"time"

	"contactbase/internal/recordid"
)

const (
	// holdTime is how long a failing delivery holds the later ones of its contact, from when it was made.
	holdTime = time.Minute

	// claimWindow is how many due deliveries of an endpoint a claim looks at. It bounds the search where many of them
	// wait for earlier ones of their contacts.
	claimWindow = 200

	// orderWindow is how many events of a contact before the one in question are looked at for the order. That is
	// enough: a delivery that waits holds the next one itself.
	orderWindow = 32
)

// eligibleSQL lists the webhooks that may be sent to and have pending deliveries. It hops through idx_deliveries_due
// from webhook to webhook, so that the number of deliveries does not matter.
const eligibleSQL = `WITH RECURSIVE backlog(webhook) AS (
	SELECT (SELECT webhook FROM deliveries WHERE status = 'pending' ORDER BY webhook LIMIT 1)
	UNION ALL
	SELECT (SELECT d.webhook FROM deliveries d WHERE d.status = 'pending' AND d.webhook > b.webhook ORDER BY d.webhook LIMIT 1)
	FROM backlog b WHERE b.webhook IS NOT NULL
), eligible AS (
	SELECT b.webhook, w.tenant FROM backlog b
	CROSS JOIN webhooks w ON w.id = b.webhook AND w.disabled = 0
	CROSS JOIN tenants t ON t.id = w.tenant AND t.apiEnabled = 1
)
`

// readySQL returns the eligible webhooks, each with when the first of its pending deliveries was or will be due.
const readySQL = eligibleSQL + `SELECT webhook, tenant, (
	SELECT d.nextAttempt FROM deliveries d WHERE d.webhook = eligible.webhook AND d.status = 'pending' ORDER BY d.nextAttempt LIMIT 1
) FROM eligible`

// nextDueSQL returns the first time after ?1 at which a delivery that may be sent becomes due.
const nextDueSQL = eligibleSQL + `SELECT min((
	SELECT d.nextAttempt FROM deliveries d WHERE d.webhook = eligible.webhook AND d.status = 'pending' AND d.nextAttempt > ?1
	ORDER BY d.nextAttempt LIMIT 1
)) FROM eligible`

// windowSQL is the start of the line of a webhook: what is due at ?2 and not claimed, at most ?4.
func windowSQL(webhook string) string {
	return `SELECT rowid AS row, event FROM deliveries
		WHERE webhook = ` + webhook + ` AND status = 'pending' AND nextAttempt <= ?2 AND leaseUntil <= ?2
		ORDER BY nextAttempt, rowid LIMIT ?4`
}

// waitsSQL tells whether a delivery of the event qe to the webhook has to wait at ?2 for an earlier one of the same
// contact: one that is in flight, or was never attempted, or failed and was made after ?5.
func waitsSQL(webhook string) string {
	return `(qe.contact != '' AND EXISTS (
			SELECT 1 FROM (
				SELECT be.id FROM events be WHERE be.contact = qe.contact AND be.rowid < qe.rowid
				ORDER BY be.rowid DESC LIMIT ` + strconv.Itoa(orderWindow) + `
			) before CROSS JOIN deliveries b ON b.event = before.id AND b.webhook = ` + webhook + `
			WHERE b.status = 'pending' AND (b.attempts = 0 OR b.leaseUntil > ?2 OR b.created > ?5)))`
}

// chooseSQL reads the first ?3 deliveries that may be sent now of each of the webhooks in ?1.
var chooseSQL = `SELECT d.rowid, ` + jobColumns + `
FROM json_each(?1) hooks
CROSS JOIN deliveries d ON d.rowid IN (
	SELECT q.row FROM (` + windowSQL("hooks.value") + `) q CROSS JOIN events qe ON qe.id = q.event
	WHERE NOT ` + waitsSQL("hooks.value") + ` LIMIT ?3)
CROSS JOIN events e ON e.id = d.event`

// jobColumns are of a delivery d and its event e, in the order of scanClaimed.
const jobColumns = "d.id, d.webhook, d.attempts, d.created, e.id, e.type, e.contact, e.payload, e.created"

// jobSQL reads the delivery ?1.
const jobSQL = `SELECT d.rowid, ` + jobColumns + ` FROM deliveries d JOIN events e ON e.id = d.event WHERE d.id = ?1`

// longSQL returns those of the webhooks in ?1 of which more than ?3 deliveries are due at ?2, claimed ones included.
const longSQL = `SELECT hooks.value FROM json_each(?1) hooks WHERE EXISTS (
	SELECT 1 FROM deliveries WHERE webhook = hooks.value AND status = 'pending' AND nextAttempt <= ?2
	ORDER BY nextAttempt LIMIT 1 OFFSET ?3)`

// lineSQL reads the start of the line of the webhook ?1, each delivery with its contact and whether it waits.
var lineSQL = `SELECT q.row, qe.contact, ` + waitsSQL("?1") + `
FROM (` + windowSQL("?1") + `) q CROSS JOIN events qe ON qe.id = q.event LIMIT ?3`

// holdSQL takes the deliveries in ?2 out of the line until ?1.
const holdSQL = `UPDATE deliveries SET nextAttempt = ?1
WHERE rowid IN (SELECT value FROM json_each(?2)) AND status = 'pending' AND nextAttempt <= ?3 AND leaseUntil <= ?3`

// callSQL puts the next delivery of a contact to the webhook ?1 after the one of the event ?2 back in line, at ?3.
var callSQL = `UPDATE deliveries SET nextAttempt = ?3 WHERE rowid = (
	SELECT n.rowid FROM (
		SELECT ae.id, ae.rowid AS row FROM events me
		CROSS JOIN events ae ON ae.contact = me.contact AND ae.rowid > me.rowid
		WHERE me.id = ?2 ORDER BY ae.rowid LIMIT ` + strconv.Itoa(orderWindow) + `
	) after CROSS JOIN deliveries n ON n.event = after.id AND n.webhook = ?1
	WHERE n.status = 'pending' AND n.attempts = 0 AND n.nextAttempt > ?3 ORDER BY after.row LIMIT 1)`

// endpointsSQL reads the webhooks in ?1, in the order of scanEndpoint.
const endpointsSQL = `SELECT id, tenant, url, headers, secret, previousSecret, previousSecretUntil
FROM webhooks WHERE id IN (SELECT value FROM json_each(?1))`

// freeSQL returns those of the deliveries in ?1 that are still unclaimed at ?2, and leaseSQL claims those of the
// deliveries in ?2 until ?1 that are so at ?3.
const (
	freeSQL = `SELECT id FROM deliveries
WHERE rowid IN (SELECT value FROM json_each(?1)) AND status = 'pending' AND leaseUntil <= ?2`
	leaseSQL = `UPDATE deliveries SET leaseUntil = ?1
WHERE rowid IN (SELECT value FROM json_each(?2)) AND status = 'pending' AND leaseUntil <= ?3`
)

// releaseSQL ends the claim ?2 of the delivery ?1.
const releaseSQL = `UPDATE deliveries SET leaseUntil = '' WHERE id = ?1 AND status = 'pending' AND leaseUntil = ?2`

// leasedSQL finds the claimed deliveries, unleaseSQL ends their claims. Finding them takes long after a crash with a
// large backlog, and so it is done on a connection of its own.
const (
	leasedSQL  = `SELECT rowid FROM deliveries WHERE status = 'pending' AND leaseUntil != ''`
	unleaseSQL = `UPDATE deliveries SET leaseUntil = '' WHERE rowid IN (SELECT value FROM json_each(?1)) AND status = 'pending'`
)

// heldSQL returns those of the deliveries in ?1 whose claims still hold: a list of id, attempts made before, and claim.
const heldSQL = `SELECT d.id FROM json_each(?1) j CROSS JOIN deliveries d ON d.id = j.value ->> 0
WHERE d.status = 'pending' AND d.attempts = j.value ->> 1 AND d.leaseUntil = j.value ->> 2`

// finishSQL ends the claim ?9 of the delivery ?7, of which ?8 attempts were made before.
const finishSQL = `UPDATE deliveries SET status = ?1, attempts = ?2, nextAttempt = ?3, lastStatus = ?4, lastError = ?5, updated = ?6, leaseUntil = ''
WHERE id = ?7 AND status = 'pending' AND attempts = ?8 AND leaseUntil = ?9`

const attemptSQL = `INSERT INTO delivery_attempts (id, delivery, number, started, durationMs, status, error, requestHeaders, responseHeaders, responseBody)
VALUES (` + recordid.Function + `, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`
