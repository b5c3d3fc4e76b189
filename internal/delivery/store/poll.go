package store

import (
	"context"
	"database/sql"
	"fmt"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// agendaSQL returns the webhooks that may be sent to and have pending deliveries, each with when the first one that
// is not blocked is due. It hops through idx_deliveries_due from webhook to webhook, so that the number of
// deliveries does not matter.
var agendaSQL = `WITH RECURSIVE backlog(webhook) AS (
	SELECT (SELECT webhook FROM deliveries WHERE status = 'pending' ORDER BY webhook LIMIT 1)
	UNION ALL
	SELECT (SELECT d.webhook FROM deliveries d WHERE d.status = 'pending' AND d.webhook > b.webhook
		ORDER BY d.webhook LIMIT 1)
	FROM backlog b WHERE b.webhook IS NOT NULL
)
SELECT webhook, tenant, first FROM (
	SELECT b.webhook, w.tenant, (
		SELECT d.nextAttempt FROM deliveries d WHERE d.webhook = b.webhook AND d.status = 'pending' AND d.blocked = 0
		ORDER BY d.nextAttempt LIMIT 1
	) AS first FROM backlog b
	CROSS JOIN webhooks w ON w.id = b.webhook AND w.disabled = 0
	CROSS JOIN tenants t ON t.id = w.tenant AND t.apiEnabled = 1
	WHERE ` + writable + `
) WHERE first IS NOT NULL`

// writable is the condition that the events of a tenant t are sent.
var writable = tenant.WritableSQL("t.id")

// Poll implements delivery.Queue. It reads the tenants to drain first: later fetches return nothing of them.
func (s *Store) Poll(context.Context) (agenda delivery.Agenda, err error) {
	if agenda.Drain, err = tenant.ToDrain(sqlite.Direct(s.app.ConcurrentDB())); err != nil {
		return agenda, err
	}
	err = s.read(agendaSQL, func(rows *sql.Rows) error {
		var due delivery.Due
		var first string
		err := rows.Scan(&due.Webhook, &due.Tenant, &first)
		due.At = stamp.Parse(first)
		agenda.Due = append(agenda.Due, due)
		return err
	})
	if err != nil {
		return agenda, fmt.Errorf("reading which endpoints have pending deliveries: %w", err)
	}
	return agenda, nil
}
