// Package move takes a tenant from one installation to another: all that belongs to it, in one file, with its ids, so that keys,
// addresses and cursors keep working. The source is frozen before it is read, and the target until it has everything.
package move

import (
	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/inbound"
	"contactbase/internal/tenant"
)

const (
	requestsTable   = "inbound_requests"
	peopleTable     = "_inboundPeople"
	answersTable    = "_idempotency"
	goneTable       = "_eventsGone"
	deliveriesTable = "deliveries"
)

// table is a table of which a tenant has rows.
type table struct {
	name string
	from string // FROM and what follows: the rows t of the tenant ?1 in the database `here`, in the order of their insertion

	key     []string // the columns of the primary key, nil for `id`
	secrets []string // columns that the installation encrypts, if it has a key
	links   []link   // beside the relation fields of a collection
}

// link is a column with the id of a row of a tenant.
type link struct {
	column, to string
	optional   bool // it may be empty
	past       bool // the row may be gone
}

// tables are the tables of an archive, in the order in which they are imported. Webhooks follow the events: those are fanned out already,
// and their deliveries come last.
var tables = []*table{
	{name: tenant.CollectionName, from: "`here`.`tenants` t WHERE t.`id` = ?1"},
	{
		name: contact.CollectionName,
		from: "`here`.`_contactSearch` s CROSS JOIN `here`.`contacts` t ON t.`id` = s.`contact` WHERE s.`tenant` = ?1 AND t.`tenant` = ?1 ORDER BY s.`seq`",
	},
	{name: credential.CollectionName, from: owned(credential.CollectionName)},
	{name: inbound.CollectionName, from: owned(inbound.CollectionName), secrets: []string{"verifySecret"}},
	{name: requestsTable, from: owned(requestsTable)},
	{
		name: peopleTable, key: []string{"person", "request"},
		from:  "`here`.`inbound_requests` r CROSS JOIN `here`.`_inboundPeople` t ON t.`request` = r.`id` WHERE r.`tenant` = ?1 ORDER BY r.rowid, t.`person`",
		links: []link{{column: "request", to: requestsTable}, {column: "person", to: contact.CollectionName, past: true}},
	},
	{
		name: answersTable, key: []string{"key"}, from: "`here`.`_idempotency` t WHERE t.`tenant` = ?1 ORDER BY t.`created`, t.`key`",
		links: []link{
			{column: "tenant", to: tenant.CollectionName}, {column: "contact", to: contact.CollectionName, past: true},
			{column: "inboundRequest", to: requestsTable, optional: true},
		},
	},
	{
		name: event.CollectionName, from: owned(event.CollectionName),
		links: []link{{column: "contact", to: contact.CollectionName, past: true}},
	},
	{
		name: goneTable, key: []string{"tenant"}, from: "`here`.`_eventsGone` t WHERE t.`tenant` = ?1",
		links: []link{
			{column: "tenant", to: tenant.CollectionName},
			{column: "event", to: event.CollectionName, past: true}, {column: "before", to: event.CollectionName, past: true},
		},
	},
	{name: delivery.WebhooksCollection, from: owned(delivery.WebhooksCollection), secrets: []string{"secret", "previousSecret"}},
	{
		name: deliveriesTable,
		from: "`here`.`deliveries` t WHERE t.rowid IN (SELECT d.rowid FROM `here`.`webhooks` w CROSS JOIN `here`.`deliveries` d ON d.`webhook` = w.`id` " +
			"WHERE w.`tenant` = ?1) ORDER BY t.rowid",
		links: []link{{column: "contact", to: contact.CollectionName, past: true}},
	},
}

// owned selects the rows of a tenant.
func owned(name string) string {
	return "`here`.`" + name + "` t WHERE t.`tenant` = ?1 ORDER BY t.rowid"
}
