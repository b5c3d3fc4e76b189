// Package move takes a tenant from one installation to another: all that belongs to it, in one file, with its ids, so that keys,
// addresses and cursors keep working. The source is frozen before it is read, and the target until it has everything.
package move

import (
	"maps"
	"slices"

	"contactbase/internal/contact"
	"contactbase/internal/event"
	"contactbase/internal/tenant"
)

// table is a table of an archive.
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
		if t.key != nil { // the owners in a collection are relation fields
			for _, column := range slices.Sorted(maps.Keys(owned.Owners)) {
				t.links = append(t.links, link{column: column, to: owned.Owners[column]})
			}
		}
		list = append(list, &t)
	}
	return list
}

// details are what archives need to know of tables beside what they are.
var details = map[string]table{
	"contacts": {
		from: "`here`.`_contactSearch` s CROSS JOIN `here`.`contacts` t ON t.`id` = s.`contact` WHERE s.`tenant` = ?1 AND t.`tenant` = ?1 ORDER BY s.`seq`",
	},
	"_inboundPeople": {
		from:  "`here`.`inbound_requests` r CROSS JOIN `here`.`_inboundPeople` t ON t.`request` = r.`id` WHERE r.`tenant` = ?1 ORDER BY r.rowid, t.`person`",
		links: []link{{column: "person", to: contact.CollectionName, past: true}},
	},
	"_idempotency": {
		from: "`here`.`_idempotency` t WHERE t.`tenant` = ?1 ORDER BY t.`created`, t.`key`",
		links: []link{
			{column: "contact", to: contact.CollectionName, past: true}, {column: "inboundRequest", to: "inbound_requests", optional: true},
		},
	},
	"events": {links: []link{{column: "contact", to: contact.CollectionName, past: true}}},
	"_eventsGone": {
		from:  "`here`.`_eventsGone` t WHERE t.`tenant` = ?1",
		links: []link{{column: "event", to: event.CollectionName, past: true}, {column: "before", to: event.CollectionName, past: true}},
	},
	"deliveries": {
		from: "`here`.`deliveries` t WHERE t.rowid IN (SELECT d.rowid FROM `here`.`webhooks` w CROSS JOIN `here`.`deliveries` d ON d.`webhook` = w.`id` " +
			"WHERE w.`tenant` = ?1) ORDER BY t.rowid",
		links: []link{{column: "contact", to: contact.CollectionName, past: true}},
	},
}
