// Package quota limits how much is stored of a tenant's requests: inbound requests and remembered answers.
package quota

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// Limit is how much is stored for a tenant, in bytes.
const Limit = 64 << 20

const (
	// rowBytes is what a row counts beside its content, as the triggers that count have it: so much goes into its other
	// columns and the indexes.
	rowBytes = 1 << 10

	// maxEvicted is how many rows one call evicts at the most: enough for the largest one, regardless of what the rows hold.
	maxEvicted = 2000

	// keptRequests is how many of a tenant's latest requests make no room for answers. They take less than half of the limit.
	keptRequests = 10
)

const usedSQL = "SELECT `bytes` FROM `_stored` WHERE `tenant` = ?"

// Used tells how much is stored for the tenant, in bytes.
func Used(tx sqlite.Reader, tenantID string) (int64, error) {
	used, err := sqlite.Value[int64](tx, usedSQL, tenantID)
	if err != nil {
		return 0, fmt.Errorf("reading how much is stored for the tenant %s: %w", tenantID, err)
	}
	return used, nil
}

// evictableSQL lists the first ?2 rows that may go: the tenant's oldest requests, without the latest ?3, and then its oldest answers. Requests
// go first because anybody who knows an inbound webhook's address can send some, while who repeats a call relies on its answer. The
// size of a text is known without reading it.
const evictableSQL = "SELECT * FROM (SELECT 'request' AS `kind`, `id`, `created`, COALESCE(octet_length(`body`), 0) + COALESCE(octet_length(`result`), 0) " +
	"FROM `inbound_requests` WHERE `tenant` = ?1 AND `created` < (SELECT `created` FROM `inbound_requests` WHERE `tenant` = ?1 ORDER BY `created` DESC LIMIT 1 OFFSET ?3 - 1) " +
	"ORDER BY `created` LIMIT ?2) UNION ALL " +
	"SELECT * FROM (SELECT 'answer', `key`, `created`, octet_length(`body`) " +
	"FROM `_idempotency` WHERE `tenant` = ?1 ORDER BY `created` LIMIT ?2) ORDER BY `kind` DESC, `created` LIMIT ?2"

// The statements that evict a list of rows, by their kind in evictableSQL.
var evictSQL = map[string]string{
	"request": "DELETE FROM `inbound_requests` WHERE `id` IN (SELECT `value` FROM json_each(?))",
	"answer":  "DELETE FROM `_idempotency` WHERE `key` IN (SELECT `value` FROM json_each(?))",
}

// Keep deletes the tenant's oldest requests, and then its oldest answers, as far as they are over the limit, in the transaction that
// stored more.
func Keep(tx core.App, tenantID string) error {
	statements, err := makeRoom(sqlite.ReaderOf(tx), tenantID, 0)
	if err == nil {
		_, err = sqlite.Run(tx, statements)
	}
	return err
}

// MakeRoom returns the statements that delete the tenant's oldest requests, and then its oldest answers, as far as they are in the way of
// a row with so many bytes of content.
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
		return nil, fmt.Errorf("looking for the oldest requests of the tenant %s: %w", tenantID, err)
	}
	var statements []sqlite.Statement
	for _, kind := range slices.Sorted(maps.Keys(evicted)) {
		ids, err := json.Marshal(evicted[kind])
		if err != nil {
			return nil, err
		}
		statements = append(statements, sqlite.Statement{Text: evictSQL[kind], Args: []any{string(ids)}})
	}
	return statements, nil
}

// oldest returns the rows to evict so that there is so much less, by their kind.
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
