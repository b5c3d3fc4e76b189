// Package quota limits the size of a tenant's stored requests: inbound requests with what finds the people in them, and
// remembered responses.
package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// Limit is the quota of a tenant, in bytes.
const Limit = 64 << 20

const (
	// rowBytes is what a row counts in addition to its content, for its other columns and the indexes. The triggers
	// that count use the same number.
	rowBytes = 384

	// maxEvicted is the most rows that a write evicts which stores more: it shares the writer. Trim evicts the others.
	maxEvicted = 50

	// trimmedAtOnce is how many rows Trim evicts between two looks at the clock.
	trimmedAtOnce = 8

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

// evictableSQL returns the first ?2 rows to evict: the tenant's oldest requests, except the latest ?3, and then its
// oldest responses. Requests are first because anyone who knows the URL of an inbound webhook can send them, while
// clients rely on remembered responses. SQLite knows the octet_length of a text without reading it. The triggers that
// count use the same sizes.
const evictableSQL = "SELECT * FROM (SELECT 'request' AS `kind`, `id`, `created`, " +
	"COALESCE(octet_length(`body`), 0) + COALESCE(octet_length(`result`), 0) + " +
	"(SELECT COALESCE(SUM(3 * octet_length(`person`) + 64), 0) FROM `_inboundPeople` WHERE `request` = r.`id`) + " +
	"COALESCE((SELECT octet_length(`people`) + 128 FROM `_inboundCrowds` " +
	"WHERE `tenant` = ?1 AND `request` = r.`id`), 0) " +
	"FROM `inbound_requests` r WHERE `tenant` = ?1 AND `created` < (SELECT `created` " +
	"FROM `inbound_requests` WHERE `tenant` = ?1 ORDER BY `created` DESC LIMIT 1 OFFSET ?3 - 1) " +
	"ORDER BY `created` LIMIT ?2) UNION ALL " +
	"SELECT * FROM (SELECT 'answer', `key`, `created`, octet_length(`body`) " +
	"FROM `_idempotency` WHERE `tenant` = ?1 ORDER BY `created` LIMIT ?2) ORDER BY `kind` DESC, `created` LIMIT ?2"

// evictSQL has the statements that evict a list of rows, by their kind in evictableSQL.
var evictSQL = map[string]string{
	"request": "DELETE FROM `inbound_requests` WHERE `id` IN (SELECT `value` FROM json_each(?))",
	"answer":  "DELETE FROM `_idempotency` WHERE `key` IN (SELECT `value` FROM json_each(?))",
}

// Keep evicts the tenant's oldest requests, and then its oldest responses, to bring it within its quota. Call it in the
// transaction that stored more, and Trim after it.
func Keep(tx core.App, tenantID string) error {
	_, err := evict(tx, tenantID, maxEvicted)
	return err
}

// MakeRoom returns the statements that evict the tenant's oldest requests, and then its oldest responses, so that a
// row with that many bytes of content fits into the quota.
func MakeRoom(tx sqlite.Reader, tenantID string, bytes int) ([]sqlite.Statement, error) {
	statements, _, err := makeRoom(tx, tenantID, int64(bytes)+rowBytes, maxEvicted)
	return statements, err
}

// Trim is Keep in chunks of their own, for what is more than a write may evict. Usually nothing is.
func Trim(ctx context.Context, app core.App, tenantID string) error {
	used, err := Used(sqlite.Direct(app.ConcurrentDB()), tenantID)
	if err != nil || used <= Limit {
		return err
	}
	chunks := new(sqlite.Chunks)
	for more := true; more && err == nil; {
		more, err = chunks.NextTimed(tenantID, app, func(tx core.App, limit int, due func() bool) (evicted int, err error) {
			for evicted < limit {
				portion := min(trimmedAtOnce, limit-evicted)
				some, err := evict(tx, tenantID, portion)
				evicted += some
				if err != nil || some < portion || due() {
					return evicted, err
				}
			}
			return evicted, nil
		})
		err = cmp.Or(err, ctx.Err())
	}
	return err
}

// overSQL returns the tenants above Limit. The index on these has the same number. What a tenant that moves has stays
// as it is.
const overSQL = "SELECT `tenant` FROM `_stored` WHERE `bytes` > 67108864 " +
	"AND `tenant` NOT IN (SELECT `tenant` FROM `_moves`)"

// TrimAll is Trim for all tenants.
func TrimAll(ctx context.Context, app core.App) error {
	over, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()), overSQL)
	if err != nil {
		return fmt.Errorf("looking for tenants above their quota: %w", err)
	}
	for _, tenantID := range over {
		err = errors.Join(err, Trim(ctx, app, tenantID))
	}
	return err
}

func evict(tx core.App, tenantID string, limit int) (evicted int, err error) {
	_, err = sqlite.Write(tx, func(tx sqlite.Reader) (statements []sqlite.Statement, err error) {
		statements, evicted, err = makeRoom(tx, tenantID, 0, limit)
		return statements, err
	})
	return evicted, err
}

// makeRoom returns the statements that evict up to limit rows so that more bytes fit into the quota, and the number of
// rows.
func makeRoom(
	tx sqlite.Reader, tenantID string, more int64, limit int,
) (statements []sqlite.Statement, count int, _ error) {
	used, err := Used(tx, tenantID)
	if err != nil || used+more <= Limit {
		return nil, 0, err
	}
	evicted, err := oldest(tx, tenantID, used+more-Limit, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("finding the oldest requests of the tenant %s: %w", tenantID, err)
	}
	for _, kind := range slices.Sorted(maps.Keys(evicted)) {
		statements = append(statements, sqlite.Statement{Text: evictSQL[kind], Args: []any{sqlite.List(evicted[kind])}})
		count += len(evicted[kind])
	}
	return statements, count, nil
}

// oldest returns up to limit rows to evict, by their kind, to free that many bytes.
func oldest(tx sqlite.Reader, tenantID string, excess int64, limit int) (map[string][]string, error) {
	rows, err := tx.Query(evictableSQL, tenantID, min(excess/rowBytes+1, int64(limit)), keptRequests)
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
