// Package move moves a tenant between installations: all its data in one file, with its ids, so that keys, addresses
// and cursors keep working. The source is frozen before the export, the target until the import is complete.
package move

import (
	"maps"
	"slices"

	"contactbase/internal/contact"
	"contactbase/internal/event"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/tenant"
)

// table is a table of an archive.
type table struct {
	name string
	from string // FROM clause: the rows t of the tenant ?1 in the database `here`, in insertion order

	key     []string // primary key columns, nil for `id`
	secrets []string // columns that the installation encrypts if it has a key
	packed  string   // the column with texts that may be compressed, "" if none
	links   []link   // besides the collection's relation fields
}

// link is a column with the id of another row of the tenant.
type link struct {
	column, to string
	optional   bool // may be empty
	past       bool // the row may have been deleted
}

// tables are an archive's tables in import order. Webhooks come after the events, which have been fanned out, and
// deliveries come last.
var tables = archived()

func archived() []*table {
	list := []*table{{name: tenant.CollectionName, from: "`here`.`tenants` t WHERE t.`id` = ?1"}}
	for _, owned := range tenant.Tables {
		if !owned.Archived {
			continue
		}
		t := details[owned.Name]
		t.name, t.key, t.secrets = owned.Name, owned.Key, owned.Secrets
		if t.from == "" {
			t.from = "`here`.`" + t.name + "` t WHERE t.`tenant` = ?1 ORDER BY t.rowid"
		}
		if t.key != nil { // in a collection, owners are relation fields
			for _, column := range slices.Sorted(maps.Keys(owned.Owners)) {
				t.links = append(t.links, link{column: column, to: owned.Owners[column]})
			}
		}
		list = append(list, &t)
	}
	return list
}

// details are what an archive needs to know about a table beyond tenant.Tables.
var details = map[string]table{
	"contacts": {
		from: "`here`.`_contactSearch` s CROSS JOIN `here`.`contacts` t ON t.`id` = s.`contact` " +
			"WHERE s.`tenant` = ?1 AND t.`tenant` = ?1 ORDER BY s.`seq`",
	},
	// portal links stay
	member.CollectionName: {
		from: "`here`.`tenant_members` t WHERE t.`tenant` = ?1 AND t.`link` = 0 ORDER BY t.rowid",
	},
	inbound.RequestsCollection: {packed: "body"},
	"_inboundPeople": {
		from: "`here`.`inbound_requests` r CROSS JOIN `here`.`_inboundPeople` t ON t.`request` = r.`id` " +
			"WHERE r.`tenant` = ?1 ORDER BY r.rowid, t.`person`",
		links: []link{{column: "person", to: contact.CollectionName, past: true}},
	},
	"_inboundCrowds": {from: "`here`.`_inboundCrowds` t WHERE t.`tenant` = ?1 ORDER BY t.`request`"},
	"_idempotency": {
		from: "`here`.`_idempotency` t WHERE t.`tenant` = ?1 ORDER BY t.`created`, t.`key`",
		links: []link{
			{column: "contact", to: contact.CollectionName, past: true},
			{column: "inboundRequest", to: "inbound_requests", optional: true},
		},
	},
	"events": {links: []link{{column: "contact", to: contact.CollectionName, past: true}}},
	"_eventsGone": {
		from: "`here`.`_eventsGone` t WHERE t.`tenant` = ?1",
		links: []link{
			{column: "event", to: event.CollectionName, past: true},
			{column: "before", to: event.CollectionName, past: true},
		},
	},
	"deliveries": {
		from: "`here`.`deliveries` t WHERE t.rowid IN " +
			"(SELECT d.rowid FROM `here`.`webhooks` w CROSS JOIN `here`.`deliveries` d ON d.`webhook` = w.`id` " +
			"WHERE w.`tenant` = ?1) ORDER BY t.rowid",
		links: []link{{column: "contact", to: contact.CollectionName, past: true}},
	},
}
