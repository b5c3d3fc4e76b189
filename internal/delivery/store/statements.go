package store

import (
	"contactbase/internal/recordid"
	"contactbase/internal/tenant"
)

// eligibleSQL lists the webhooks that may be sent to and have pending deliveries. It hops through idx_deliveries_due
// from webhook to webhook, so that the number of deliveries does not matter.
var eligibleSQL = `WITH RECURSIVE backlog(webhook) AS (
	SELECT (SELECT webhook FROM deliveries WHERE status = 'pending' ORDER BY webhook LIMIT 1)
	UNION ALL
	SELECT (SELECT d.webhook FROM deliveries d WHERE d.status = 'pending' AND d.webhook > b.webhook ORDER BY d.webhook LIMIT 1)
	FROM backlog b WHERE b.webhook IS NOT NULL
), eligible AS (
	SELECT b.webhook, w.tenant FROM backlog b
	CROSS JOIN webhooks w ON w.id = b.webhook AND w.disabled = 0
	CROSS JOIN tenants t ON t.id = w.tenant AND t.apiEnabled = 1
	WHERE NOT ` + moving + `
)
`

// moving is the condition on a tenant t to move, so that nothing is sent.
var moving = tenant.Moving("t.id")

// readySQL returns the eligible webhooks, each with when the first of its pending deliveries that may go was or will be due.
var readySQL = eligibleSQL + `SELECT webhook, tenant, first FROM (
	SELECT webhook, tenant, (
		SELECT d.nextAttempt FROM deliveries d WHERE d.webhook = eligible.webhook AND d.status = 'pending' AND d.blocked = 0
		ORDER BY d.nextAttempt LIMIT 1
	) AS first FROM eligible
) WHERE first IS NOT NULL`

// nextDueSQL returns the first time after ?1 at which a delivery that may be sent becomes due.
var nextDueSQL = eligibleSQL + `SELECT min((
	SELECT d.nextAttempt FROM deliveries d WHERE d.webhook = eligible.webhook AND d.status = 'pending' AND d.blocked = 0 AND d.nextAttempt > ?1
	ORDER BY d.nextAttempt LIMIT 1
)) FROM eligible`

// chooseSQL reads the first ?3 deliveries that are due at ?2 of each of the webhooks in ?1, without those in the rows ?4, which
// are in flight. One that was never attempted waits while the one in front of it is in flight.
var chooseSQL = `SELECT d.rowid, ` + jobColumns + `
FROM json_each(?1) hooks
CROSS JOIN deliveries d ON d.rowid IN (
	SELECT q.rowid FROM deliveries q
	WHERE q.webhook = hooks.value AND q.status = 'pending' AND q.blocked = 0 AND q.nextAttempt <= ?2
		AND q.rowid NOT IN (SELECT value FROM json_each(?4)) AND q.leaseUntil <= ?2
		AND NOT (q.attempts = 0 AND q.contact != '' AND (coalesce(` + before("q", "leaseUntil") + `, '') > ?2
			OR coalesce(` + before("q", "rowid") + `, 0) IN (SELECT value FROM json_each(?4))))
	ORDER BY q.nextAttempt, q.rowid LIMIT ?3)
CROSS JOIN events e ON e.id = d.event`

// jobColumns are of a delivery d and its event e, in the order of scanClaimed.
const jobColumns = "d.id, d.webhook, d.attempts, d.created, e.id, e.type, e.contact, e.payload, e.created"

// jobSQL reads the delivery ?1.
const jobSQL = `SELECT d.rowid, ` + jobColumns + ` FROM deliveries d JOIN events e ON e.id = d.event WHERE d.id = ?1`

// endpointsSQL reads the webhooks in ?1, in the order of scanEndpoint, and openSQL those of them that may be sent to.
var (
	endpointsSQL = `SELECT w.id, w.tenant, w.url, w.headers, w.secret, w.previousSecret, w.previousSecretUntil
FROM json_each(?1) hooks CROSS JOIN webhooks w ON w.id = hooks.value`
	openSQL = endpointsSQL + ` AND w.disabled = 0 CROSS JOIN tenants t ON t.id = w.tenant AND t.apiEnabled = 1 AND NOT ` + moving
)

// freeSQL returns those of the deliveries in ?1 that are still unclaimed at ?2, and leaseSQL claims those of the
// deliveries in ?2 until ?1 that are so at ?3. Their tenants may have begun to move since they were chosen.
var (
	freeSQL = `SELECT id FROM deliveries
WHERE rowid IN (SELECT value FROM json_each(?1)) AND status = 'pending' AND leaseUntil <= ?2 AND NOT ` + movingOwner
	leaseSQL = `UPDATE deliveries SET leaseUntil = ?1
WHERE rowid IN (SELECT value FROM json_each(?2)) AND status = 'pending' AND leaseUntil <= ?3 AND NOT ` + movingOwner

	movingOwner = tenant.Moving("deliveries.tenant")
)

// releaseSQL ends the claim ?3 of the delivery of the event ?1 to the webhook ?2.
const releaseSQL = `UPDATE deliveries SET leaseUntil = '' WHERE event = ?1 AND webhook = ?2 AND status = 'pending' AND leaseUntil = ?3`

// leasedSQL finds the claimed deliveries, unleaseSQL ends their claims. Finding them takes long after a crash with a
// large backlog, and so it is done on a connection of its own.
const (
	leasedSQL  = `SELECT rowid FROM deliveries WHERE status = 'pending' AND leaseUntil != ''`
	unleaseSQL = `UPDATE deliveries SET leaseUntil = '' WHERE rowid IN (SELECT value FROM json_each(?1)) AND status = 'pending'`
)

// heldSQL returns those of the deliveries in ?1 whose claims still hold, by their numbers in the list, and whether another one is
// behind: a list of event, webhook, attempts made before, and the mark of the claim where that is stored.
const heldSQL = `SELECT j.key, d.id, d.leaseUntil, EXISTS (
	SELECT 1 FROM deliveries n WHERE n.webhook = d.webhook AND n.contact = d.contact AND n.contact != '' AND n.status = 'pending' AND n.rowid > d.rowid
) FROM json_each(?1) j CROSS JOIN deliveries d ON d.event = j.value ->> 0 AND d.webhook = j.value ->> 1
WHERE d.status = 'pending' AND d.attempts = j.value ->> 2 AND coalesce(d.leaseUntil = j.value ->> 3, true)`

// finishSQL ends the claim ?9 of the delivery ?7, of which ?8 attempts were made before. Others may have come in front of it
// meanwhile; what was attempted waits for nobody.
const finishSQL = `UPDATE deliveries SET status = ?1, attempts = ?2, nextAttempt = ?3, lastStatus = ?4, lastError = ?5, updated = ?6, leaseUntil = '', blocked = 0
WHERE id = ?7 AND status = 'pending' AND attempts = ?8 AND leaseUntil = ?9`

const attemptSQL = `INSERT INTO delivery_attempts (id, delivery, number, started, durationMs, status, error, requestHeaders, responseHeaders, responseBody)
VALUES (` + recordid.Function + `, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`
