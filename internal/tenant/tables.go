package tenant

import (
	"strings"
)

// Deletion is how a table's rows are deleted when their tenant is.
type Deletion int

// The ways in which rows are deleted.
const (
	WithOwner Deletion = iota // with the rows that own them
	ByTrigger                 // in the transaction that deletes the tenant
	AsRecords                 // with their files and the admin's relations
	AsRows                    // by one statement
	Kept                      // not: they outlive the tenant until retention
)

// Table is a table with tenants' rows.
type Table struct {
	Name     string
	Key      []string          // primary key columns; nil for a collection, whose key is `id`
	Owners   map[string]string // the tables of the owning rows, by the column that holds their ids
	Secrets  []string          // columns that are encrypted if the installation has a key
	Deletion Deletion
	Shared   bool // whether rows without a tenant belong to the operator
	Archived bool // whether it moves with the tenant to another installation
}

// ofTenant are the owners in a table whose rows belong to a tenant only.
var ofTenant = map[string]string{"tenant": CollectionName}

// Tables are all tables with tenants' rows, each after those that it refers to. Rows are imported in this order and
// deleted in reverse.
var Tables = []Table{
	{Name: "contacts", Owners: ofTenant, Deletion: AsRecords, Archived: true},
	{Name: "tenant_members", Owners: ofTenant, Deletion: ByTrigger, Archived: true},
	{Name: "_contactSearch", Key: []string{"seq"}, Owners: map[string]string{"contact": "contacts"}},
	{Name: "_mergedContacts", Key: []string{"tenant", "oldId", "oldExternalId"},
		Owners: map[string]string{"tenant": CollectionName, "contact": "contacts"}, Deletion: AsRows, Archived: true},
	{Name: "api_keys", Owners: ofTenant, Deletion: AsRecords, Archived: true},
	{Name: "inbound_webhooks", Owners: ofTenant, Secrets: []string{"verifySecret"}, Deletion: AsRecords, Archived: true},
	{Name: "inbound_requests", Owners: map[string]string{"inbound": "inbound_webhooks"}, Archived: true},
	{Name: "_inboundPeople", Key: []string{"person", "request"},
		Owners: map[string]string{"request": "inbound_requests"}, Archived: true},
	{Name: "_inboundCrowds", Key: []string{"tenant", "request"},
		Owners: map[string]string{"tenant": CollectionName, "request": "inbound_requests"}, Archived: true},
	{Name: "_idempotency", Key: []string{"key"}, Owners: ofTenant, Deletion: AsRows, Archived: true},
	{Name: "events", Owners: ofTenant, Deletion: AsRows, Archived: true},
	{Name: "_sources", Key: []string{"event"}, Owners: map[string]string{"event": "events"}},
	{Name: "_eventsGone", Key: []string{"tenant"}, Owners: ofTenant, Deletion: ByTrigger, Archived: true},
	{Name: "webhooks", Owners: ofTenant,
		Secrets:  []string{"secret", "previousSecret", "olderSecrets", "sealedHeaders"},
		Deletion: AsRecords, Archived: true},
	{Name: "deliveries", Owners: map[string]string{"event": "events", "webhook": "webhooks"}, Archived: true},
	{Name: "delivery_attempts", Owners: map[string]string{"delivery": "deliveries"}},
	{Name: "_imports", Key: []string{"id"}, Owners: ofTenant, Deletion: AsRows},
	{Name: "_importRows", Key: []string{"import", "first"}, Owners: ofTenant, Deletion: AsRows},
	{Name: "_importRefusals", Key: []string{"import", "row"}, Owners: ofTenant, Deletion: AsRows},
	{Name: "_importNotes", Key: []string{"import", "row", "text"}, Owners: ofTenant, Deletion: AsRows},
	{Name: "_importCreated", Key: []string{"import", "contact"}, Owners: ofTenant, Deletion: AsRows},
	{Name: "_importContacts", Key: []string{"import", "contact"}, Owners: ofTenant, Deletion: AsRows},
	{Name: "_notices", Owners: ofTenant, Shared: true, Deletion: AsRows},
	{Name: "_noticeMails", Key: []string{"notice", "recipient"}, Owners: map[string]string{"notice": "_notices"}},
	{Name: "_stored", Key: []string{"tenant"}, Owners: ofTenant, Deletion: ByTrigger},
	{Name: "_fanOutSince", Key: []string{"webhook"}, Owners: map[string]string{"webhook": "webhooks"}},
	{Name: "_failingWebhooks", Key: []string{"webhook"}, Owners: map[string]string{"webhook": "webhooks"}},
	{Name: "_moves", Key: []string{"tenant"}, Owners: ofTenant, Deletion: ByTrigger},
	{Name: "audit_log", Deletion: Kept},
}

// OwnersIn returns the tables of the rows that own those of a table, by the column that holds their ids.
func OwnersIn(table string) map[string]string {
	for _, t := range Tables {
		if t.Name == table {
			return t.Owners
		}
	}
	return nil
}

// RemainsSQL returns the query whether the tenant ?1 has rows left to delete, those included that the transaction of
// the deletion deletes.
func RemainsSQL() string {
	var left []string
	for _, t := range Tables {
		if t.Deletion != WithOwner && t.Deletion != Kept {
			left = append(left, t.RemainsSQL())
		}
	}
	return "SELECT " + strings.Join(left, " OR ")
}

// RemainsSQL returns the condition that the tenant ?1 has rows in the table.
func (t *Table) RemainsSQL() string {
	return "EXISTS (SELECT 1 FROM `" + t.Name + "` WHERE `tenant` = ?1)"
}

// DeleteSQL returns the statement that deletes up to ?2 rows of the tenant ?1.
func (t *Table) DeleteSQL() string {
	key := "`id`"
	if t.Key != nil {
		key = "`" + strings.Join(t.Key, "`, `") + "`"
	}
	return "DELETE FROM `" + t.Name + "` WHERE (" + key + ") IN (SELECT " + key +
		" FROM `" + t.Name + "` WHERE `tenant` = ?1 LIMIT ?2)"
}
