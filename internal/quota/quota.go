// Package quota limits the size of a tenant's stored requests: inbound requests and remembered responses.
package quota

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// Limit is the quota of a tenant, in bytes.
const Limit = 64 << 20

const (
	// rowBytes is what a row counts in addition to its content, for its other columns and the indexes. The triggers that count use the same
	// number.
	rowBytes = 1 << 10

	// maxEvicted is the most rows that one call evicts. It is enough for the largest request, whatever the rows contain.
	maxEvicted = 2000

	// keptRequests is how many of a tenant's latest requests are never evicted. They take less than half of the quota.
	keptRequests = 10
)

const usedSQL = "SELECT `bytes` FROM `_stored` WHERE `tenant` = ?"

// Used returns how much of its quota the tenant uses, in bytes.
func Used(tx sqlite.Reader, tenantID string) (int64, error) {
	used, err := sqlite.Value[int64](tx, usedSQL, tenantID)
	if err != nil {
		return 0, fmt.Errorf("reading the used quota of the tenant %s: %w", tenantID, err)
	}
	return used, nil
}

// evictableSQL returns the first ?2 rows to evict: the tenant's oldest requests, except the latest ?3, and then its oldest responses. Requests
// are first because anyone who knows the URL of an inbound webhook can send them, while clients rely on remembered responses. SQLite knows
// the octet_length of a text without reading it.
const evictableSQL = "SELECT * FROM (SELECT 'request' AS `kind`, `id`, `created`, COALESCE(octet_length(`body`), 0) + COALESCE(octet_length(`result`), 0) " +
	"FROM `inbound_requests` WHERE `tenant` = ?1 AND `created` < (SELECT `created` FROM `inbound_requests` WHERE `tenant` = ?1 ORDER BY `created` DESC LIMIT 1 OFFSET ?3 - 1) " +
	"ORDER BY `created` LIMIT ?2) UNION ALL " +
	"SELECT * FROM (SELECT 'answer', `key`, `created`, octet_length(`body`) " +
	"FROM `_idempotency` WHERE `tenant` = ?1 ORDER BY `created` LIMIT ?2) ORDER BY `kind` DESC, `created` LIMIT ?2"

// evictSQL has the statements that evict a list of rows, by their kind in evictableSQL.
var evictSQL = map[string]string{
	"request": "DELETE FROM `inbound_requests` WHERE `id` IN (SELECT `value` FROM json_each(?))",
	"answer":  "DELETE FROM `_idempotency` WHERE `key` IN (SELECT `value` FROM json_each(?))",
}

// Keep evicts the tenant's oldest requests, and then its oldest responses, until it is within its quota. Call it in the transaction that stored
// more.
func Keep(tx core.App, tenantID string) error {
	_, err := sqlite.Write(tx, func(tx sqlite.Reader) ([]sqlite.Statement, error) { return makeRoom(tx, tenantID, 0) })
	return err
}

// MakeRoom returns the statements that evict the tenant's oldest requests, and then its oldest responses, so that a row with that many bytes of
// content fits into the quota.
func MakeRoom(tx sqlite.Reader, tenantID string, bytes int) ([]sqlite.Statement, error) {
	return makeRoom(tx, tenantID, int64(bytes)+rowBytes)
}

func makeRoom(tx sqlite.Reader, tenantID string, more int64) ([]sqlite.Statement, error) {
	used, err := Used(tx, tenantID)
	if err != nil || used+more <= Limit {
		return nil, err
	}
	evicted, err := oldest(tx, tenantID, used+more-Limit)
	if err != nil {
		return nil, fmt.Errorf("finding the oldest requests of the tenant %s: %w", tenantID, err)
	}
	var statements []sqlite.Statement
	for _, kind := range slices.Sorted(maps.Keys(evicted)) {
		statements = append(statements, sqlite.Statement{Text: evictSQL[kind], Args: []any{sqlite.List(evicted[kind])}})
	}
	return statements, nil
}

// oldest returns the rows to evict, by their kind, to free that many bytes.
func oldest(tx sqlite.Reader, tenantID string, excess int64) (map[string][]string, error) {
	rows, err := tx.Query(evictableSQL, tenantID, min(excess/rowBytes+1, maxEvicted), keptRequests)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	evicted := map[string][]string{}
	for rows.Next() && excess > 0 {
		var kind, id, created string
		var bytes int64
		if err := rows.Scan(&kind, &id, &created, &bytes); err != nil {
			return nil, err
		}
		evicted[kind] = append(evicted[kind], id)
		excess -= bytes + rowBytes
	}
	return evicted, rows.Err()
}
