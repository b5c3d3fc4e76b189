package migrations

import (
	"fmt"
	"strings"
)

// Until this version, what was being written while its tenant, webhook or contact was deleted could stay for ever.
// Rows of tenants, webhooks and inbound webhooks that are gone are left to the sweeper, which deletes in chunks while
// the server runs: their owners are noted as deleted once more. Indexes lead from one owner to the next, so that the
// number of rows does not matter. Other rows without an owner are deleted here.
func init() {
	var statements []string
	for _, table := range []string{
		"contacts", "tenant_members", "_contactSearch", "api_keys", "inbound_webhooks",
		"inbound_requests", "_idempotency", "events", "_eventsGone", "webhooks",
		"_imports", "_importRows", "_importRefusals", "_importNotes",
		"_importContacts", "_notices", "_stored", "_fanOutAside", "_moves",
	} {
		statements = append(statements, noteOrphans(table, "tenant", "tenants"))
	}
	statements = append(statements, noteOrphans("deliveries", "webhook", "webhooks"),
		noteOrphans("inbound_requests", "inbound", "inbound_webhooks"))
	statements = append(statements,
		// with deliveries to a webhook that remains, this is a delivery without an event
		"DELETE FROM `deliveries` WHERE NOT EXISTS (SELECT 1 FROM `events` o WHERE o.`id` = `deliveries`.`event`)",
		"INSERT OR IGNORE INTO `_contactUnindexed` SELECT `seq` FROM `_contactSearch` s WHERE s.`seq` <= (SELECT `upTo` FROM `_contactIndexed`) "+
			"AND NOT EXISTS (SELECT 1 FROM `contacts` o WHERE o.`id` = s.`contact`)",
	)
	for _, lost := range []string{
		"delivery_attempts.delivery deliveries", "_contactSearch.contact contacts", "_inboundPeople.request inbound_requests",
		"_inboundCrowds.request inbound_requests", "_inboundCrowds.tenant tenants",
		"_noticeMails.notice _notices", "_fanOutSince.webhook webhooks",
		"_keptCalls.key api_keys", "_idempotency.inboundRequest inbound_requests",
	} {
		column, owner, _ := strings.Cut(lost, " ")
		table, column, _ := strings.Cut(column, ".")
		statements = append(statements, fmt.Sprintf("DELETE FROM `%[1]s` WHERE `%[2]s` != '' AND NOT EXISTS (SELECT 1 FROM `%[3]s` o WHERE o.`id` = `%[1]s`.`%[2]s`)", table, column, owner))
	}
	for _, table := range []string{"_externalAuths", "_mfas", "_otps", "_authOrigins"} {
		statements = append(statements, fmt.Sprintf("DELETE FROM `%[1]s` WHERE `collectionRef` = (SELECT `id` FROM `_collections` WHERE `name` = 'tenant_members') "+
			"AND NOT EXISTS (SELECT 1 FROM `tenant_members` o WHERE o.`id` = `%[1]s`.`recordRef`)", table))
	}
	execute("1760000041_orphans.go", statements...)
}

// noteOrphans returns the statement that notes the owners that are gone of the rows in a table as deleted.
func noteOrphans(table, column, owner string) string {
	return strings.NewReplacer("{table}", "`"+table+"`", "{column}", "`"+column+"`", "{owner}", owner).Replace(
		"INSERT OR IGNORE INTO `_deletions` (`collection`, `record`, `detail`, `created`) " +
			"WITH RECURSIVE found(`id`) AS (SELECT min({column}) FROM {table} UNION ALL " +
			"SELECT (SELECT min({column}) FROM {table} WHERE {column} > found.`id`) FROM found WHERE found.`id` IS NOT NULL) " +
			"SELECT '{owner}', `id`, '', strftime('%Y-%m-%d %H:%M:%fZ') FROM found WHERE `id` != '' AND `id` NOT IN (SELECT `id` FROM `{owner}`)")
}
