package tenant

import (
	"strings"
)

// Deletion is how the rows of a table go when their tenant is deleted.
type Deletion int

// The ways to delete the rows of a table.
const (
	WithOwner Deletion = iota // with the rows that they belong to
	ByTrigger                 // in the transaction that deletes the tenant
	AsRecords                 // with their files and the admin's relations to them
	AsRows                    // by one statement
)

// Table is a table with rows that belong to a tenant.
type Table struct {
	Name     string
	Key      []string          // the columns of the primary key; nil for a collection, whose key is `id`
	Owners   map[string]string // the columns with ids of the rows that a row belongs to, with their tables
	Secrets  []string          // the columns that an installation encrypts, if it has a key
	Deletion Deletion
	Archived bool // it moves with the tenant to another installation
}

// ofTenant are the owners in a table whose rows belong to nothing but a tenant.
var ofTenant = map[string]string{"tenant": CollectionName}

// Tables are all tables with rows of tenants, each behind those that it refers to: rows are imported in this order, and deleted in
// the opposite one.
var Tables = []Table{
	{Name: "contacts", Owners: ofTenant, Deletion: AsRecords, Archived: true},
	{Name: "_contactSearch", Key: []string{"seq"}, Owners: map[string]string{"contact": "contacts"}},
	{Name: "api_keys", Owners: ofTenant, Deletion: AsRecords, Archived: true},
	{Name: "inbound_webhooks", Owners: ofTenant, Secrets: []string{"verifySecret"}, Deletion: AsRecords, Archived: true},
	{Name: "inbound_requests", Owners: map[string]string{"inbound": "inbound_webhooks"}, Archived: true},
	{Name: "_inboundPeople", Key: []string{"person", "request"}, Owners: map[string]string{"request": "inbound_requests"}, Archived: true},
	{Name: "_idempotency", Key: []string{"key"}, Owners: ofTenant, Deletion: AsRows, Archived: true},
	{Name: "events", Owners: ofTenant, Deletion: AsRows, Archived: true},
	{Name: "_eventsGone", Key: []string{"tenant"}, Owners: ofTenant, Deletion: ByTrigger, Archived: true},
	{Name: "webhooks", Owners: ofTenant, Secrets: []string{"secret", "previousSecret", "sealedHeaders"}, Deletion: AsRecords, Archived: true},
	{Name: "deliveries", Owners: map[string]string{"event": "events", "webhook": "webhooks"}, Archived: true},
	{Name: "delivery_attempts", Owners: map[string]string{"delivery": "deliveries"}},
	{Name: "_imports", Key: []string{"id"}, Owners: ofTenant, Deletion: AsRows},
	{Name: "_importRows", Key: []string{"import", "first"}, Owners: ofTenant, Deletion: AsRows},
	{Name: "_importRefusals", Key: []string{"import", "row"}, Owners: ofTenant, Deletion: AsRows},
	{Name: "_stored", Key: []string{"tenant"}, Owners: ofTenant, Deletion: ByTrigger},
	{Name: "_moves", Key: []string{"tenant"}, Owners: ofTenant, Deletion: ByTrigger},
}

// RemainsSQL reports whether rows are left that the deletion of the tenant ?1 has to remove.
func RemainsSQL() string {
	var left []string
	for _, t := range Tables {
		if t.Deletion == AsRecords || t.Deletion == AsRows {
			left = append(left, "EXISTS (SELECT 1 FROM `"+t.Name+"` WHERE `tenant` = ?1)")
		}
	}
	return "SELECT " + strings.Join(left, " OR ")
}

// DeleteSQL deletes up to ?2 rows of the tenant ?1.
func (t *Table) DeleteSQL() string {
	key := "`id`"
	if t.Key != nil {
		key = "`" + strings.Join(t.Key, "`, `") + "`"
	}
	return "DELETE FROM `" + t.Name + "` WHERE (" + key + ") IN (SELECT " + key + " FROM `" + t.Name + "` WHERE `tenant` = ?1 LIMIT ?2)"
}
