package tenant

import (
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

func nameIs(name string) dbx.Expression { return dbx.HashExp{"name": name} }

// belongings lists what goes with a tenant, children before their parents.
// Set by set in SQL: a cascade record by record would hold the write lock for minutes and would emit an event for
// each contact, to webhooks that go in the same moment.
var belongings = []string{
	"DELETE FROM {{delivery_attempts}} WHERE [[delivery]] IN (SELECT [[id]] FROM {{deliveries}} WHERE [[webhook]] IN (SELECT [[id]] FROM {{webhooks}} WHERE [[tenant]] = {:tenant}))",
	"DELETE FROM {{deliveries}} WHERE [[webhook]] IN (SELECT [[id]] FROM {{webhooks}} WHERE [[tenant]] = {:tenant})",
	"DELETE FROM {{events}} WHERE [[tenant]] = {:tenant}",
	"DELETE FROM {{inbound_requests}} WHERE [[inbound]] IN (SELECT [[id]] FROM {{inbound_webhooks}} WHERE [[tenant]] = {:tenant})",
	"DELETE FROM {{_idempotency}} WHERE [[contact]] IN (SELECT [[id]] FROM {{contacts}} WHERE [[tenant]] = {:tenant})",
	"INSERT OR IGNORE INTO {{_contactUnindexed}} SELECT [[seq]] FROM {{_contactSearch}} WHERE [[tenant]] = {:tenant} AND [[indexed]] != 0",
	"DELETE FROM {{_contactSearch}} WHERE [[tenant]] = {:tenant}",
	"DELETE FROM {{contacts}} WHERE [[tenant]] = {:tenant}",
	"DELETE FROM {{webhooks}} WHERE [[tenant]] = {:tenant}",
	"DELETE FROM {{inbound_webhooks}} WHERE [[tenant]] = {:tenant}",
	"DELETE FROM {{api_keys}} WHERE [[tenant]] = {:tenant}",
}

// DeleteBelongings deletes all that belongs to the tenant, in the caller's transaction.
func DeleteBelongings(tx core.App, tenantID string) error {
	for _, statement := range belongings {
		if _, err := tx.DB().NewQuery(statement).Bind(dbx.Params{"tenant": tenantID}).Execute(); err != nil {
			return fmt.Errorf("deleting what belongs to the tenant %s: %w", tenantID, err)
		}
	}
	return nil
}
