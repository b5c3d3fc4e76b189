// Package move takes a tenant from one installation to another: all that belongs to it, in a file, with its ids, so that keys, addresses
// and cursors go on working. The source is closed for writes before it is read, and the target is until it has everything.
package move

import (
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/inbound"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// kind is a table of which a tenant has rows.
type kind struct {
	table string
	keys  string // selects the keys of the rows of the tenant ?1, in the order in which rows are written
	key   string // the column of the key

	unique  []string       // columns whose values nobody else may have
	secrets []string       // columns with what the installation encrypts, if it has a key
	private []string       // columns with what is only to be read with the passphrase
	reset   map[string]any // columns that begin anew
	ageing  bool           // whether rows may go of old age while they are read
}

const requestsTable = "inbound_requests"

// kinds are all that moves, in the order in which it arrives. Webhooks come behind the events: those have had their deliveries, which
// come last.
var kinds = []kind{
	{table: tenant.CollectionName, key: "id", unique: []string{"id"}, keys: "SELECT `id` FROM `tenants` WHERE `id` = ?1"},
	{
		table: contact.CollectionName, key: "id", unique: []string{"id"},
		keys: "SELECT c.`id` FROM `contacts` c LEFT JOIN `_contactSearch` s ON s.`contact` = c.`id` WHERE c.`tenant` = ?1 ORDER BY s.`seq`",
	},
	{table: credential.CollectionName, key: "id", unique: []string{"id", "hash"}, keys: owned(credential.CollectionName)},
	{
		table: inbound.CollectionName, key: "id", unique: []string{"id", "tokenHash"}, keys: owned(inbound.CollectionName),
		secrets: []string{"verifySecret"},
	},
	{table: requestsTable, key: "id", unique: []string{"id"}, keys: owned(requestsTable), ageing: true},
	{
		table: "_inboundPeople", key: "request", ageing: true,
		keys: "SELECT r.`id` FROM `inbound_requests` r WHERE r.`tenant` = ?1 AND EXISTS (SELECT 1 FROM `_inboundPeople` p WHERE p.`request` = r.`id`) ORDER BY r.rowid",
	},
	{table: "_idempotency", key: "key", unique: []string{"key"}, keys: "SELECT `key` FROM `_idempotency` WHERE `tenant` = ?1 ORDER BY `created`, `key`", ageing: true},
	{table: event.CollectionName, key: "id", unique: []string{"id"}, keys: owned(event.CollectionName)},
	{table: "_eventsGone", key: "tenant", keys: "SELECT `tenant` FROM `_eventsGone` WHERE `tenant` = ?1"},
	{
		table: delivery.WebhooksCollection, key: "id", unique: []string{"id"}, keys: owned(delivery.WebhooksCollection),
		secrets: []string{"secret", "previousSecret"}, private: []string{"headers"},
	},
	{
		table: "deliveries", key: "id", unique: []string{"id"}, reset: map[string]any{"leaseUntil": ""},
		keys: "SELECT `id` FROM `deliveries` WHERE `webhook` IN (SELECT `id` FROM `webhooks` WHERE `tenant` = ?1) ORDER BY rowid",
	},
}

// owned selects the ids of the rows of a tenant as they were written.
func owned(table string) string {
	return "SELECT `id` FROM `" + table + "` WHERE `tenant` = ?1 ORDER BY rowid"
}

// file is the name of the kind's file in an archive.
func (k kind) file() string { return strings.TrimPrefix(k.table, "_") + ".jsonl" }

// Field is a column of a table. Its type is that of the collection's field, "" where the table is no collection.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// count returns how many rows of the tenant there are.
func (k kind) count(app core.App, tenantID string) (int, error) {
	return sqlite.Value[int](sqlite.Direct(app.ConcurrentDB()), "SELECT count(*) FROM ("+k.keys+")", tenantID)
}

// fields returns the columns of the kind's table.
func (k kind) fields(app core.App) ([]Field, error) {
	rows, err := sqlite.Direct(app.ConcurrentDB()).Query("SELECT * FROM `" + k.table + "` LIMIT 0")
	if err != nil {
		return nil, fmt.Errorf("reading the columns of %s: %w", k.table, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("reading the columns of %s: %w", k.table, err)
	}
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i].Name = name
	}
	if strings.HasPrefix(k.table, "_") {
		return fields, rows.Err()
	}
	collection, err := app.FindCachedCollectionByNameOrId(k.table)
	if err != nil {
		return nil, fmt.Errorf("finding the collection %s: %w", k.table, err)
	}
	for i, name := range names {
		if field := collection.Fields.GetByName(name); field != nil {
			fields[i].Type = typeOf(field)
		}
	}
	return fields, rows.Err()
}

// typeOf returns the type of a collection's field, with [] behind it for a list of such.
func typeOf(field core.Field) string {
	if multiple, ok := field.(core.MultiValuer); ok && multiple.IsMultiple() {
		return field.Type() + "[]"
	}
	return field.Type()
}
