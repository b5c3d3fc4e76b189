package store

import "contactbase/internal/recordid"

// currentSQL returns the deliveries in ?1 that have not changed since their attempts, by their indexes in the list, and whether another one
// is behind each. The list has event, webhook, and the number of earlier attempts.
const currentSQL = `SELECT j.key, d.id, EXISTS (
	SELECT 1 FROM deliveries n WHERE n.webhook = d.webhook AND n.contact = d.contact AND n.contact != '' AND n.status = 'pending' AND n.rowid > d.rowid
) FROM json_each(?1) j CROSS JOIN deliveries d ON d.event = j.value ->> 0 AND d.webhook = j.value ->> 1
WHERE d.status = 'pending' AND d.attempts = j.value ->> 2`

// finishSQL stores the result of an attempt in the delivery ?7, which had ?8 earlier attempts. It clears blocked: an attempted delivery
// waits for no other, even if one came in front of it meanwhile.
const finishSQL = `UPDATE deliveries SET status = ?1, attempts = ?2, nextAttempt = ?3, lastStatus = ?4, lastError = ?5, updated = ?6, blocked = 0
WHERE id = ?7 AND status = 'pending' AND attempts = ?8`

const attemptSQL = `INSERT INTO delivery_attempts (id, delivery, number, started, durationMs, status, error, requestHeaders, responseHeaders, responseBody)
VALUES (` + recordid.Function + `, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`
