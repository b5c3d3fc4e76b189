package store

import "contactbase/internal/recordid"

// currentSQL returns those of the deliveries in ?1 that are as they were when they were attempted, by their numbers in the list, and whether
// another one is behind. The list has event, webhook, and the attempts made before.
const currentSQL = `SELECT j.key, d.id, EXISTS (
	SELECT 1 FROM deliveries n WHERE n.webhook = d.webhook AND n.contact = d.contact AND n.contact != '' AND n.status = 'pending' AND n.rowid > d.rowid
) FROM json_each(?1) j CROSS JOIN deliveries d ON d.event = j.value ->> 0 AND d.webhook = j.value ->> 1
WHERE d.status = 'pending' AND d.attempts = j.value ->> 2`

// finishSQL stores the result of an attempt in the delivery ?7, of which ?8 attempts were made before. Others may have come in front of it
// meanwhile; what was attempted waits for nobody.
const finishSQL = `UPDATE deliveries SET status = ?1, attempts = ?2, nextAttempt = ?3, lastStatus = ?4, lastError = ?5, updated = ?6, blocked = 0
WHERE id = ?7 AND status = 'pending' AND attempts = ?8`

const attemptSQL = `INSERT INTO delivery_attempts (id, delivery, number, started, durationMs, status, error, requestHeaders, responseHeaders, responseBody)
VALUES (` + recordid.Function + `, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`
