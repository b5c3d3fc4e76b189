package migrations

import (
	"fmt"
	"strings"
)

// A tenant that is moving to another installation, or arriving from one, has a row in `_moves` and is closed for
// writes. Triggers refuse them in every process on the data directory, however they are made. `state` is 'frozen'
// or 'arriving'. An import stores its progress through the file `archive` in `step` and `row`, and sets `open` in
// its own transaction.
//
// Contacts have such triggers only while a tenant moves. With one, SQLite keeps the original of every page that an
// insert changes, which takes a sixth of the time of a create. These triggers belong to the program.
//
// Some writes go on: the last use of keys, results of attempts, disabling a webhook that answers 410, and erasing
// what belonged to deleted contacts.
func init() {
	const bump = "UPDATE `_credentialVersion` SET `version` = `version` + 1"
	statements := []string{
		"CREATE TABLE `_moves` (`tenant` TEXT PRIMARY KEY NOT NULL, `state` TEXT NOT NULL CHECK (`state` IN ('frozen', 'arriving')), " +
			"`archive` TEXT NOT NULL DEFAULT '', `step` INTEGER NOT NULL DEFAULT 0, `row` INTEGER NOT NULL DEFAULT 0, " +
			"`open` INTEGER NOT NULL DEFAULT 0, `created` TEXT NOT NULL) WITHOUT ROWID",
		"CREATE TRIGGER `_moves_tenant_delete` AFTER DELETE ON `tenants` BEGIN DELETE FROM `_moves` WHERE `tenant` = OLD.`id`; END",
		"CREATE TRIGGER `_credentialVersion_moves_insert` AFTER INSERT ON `_moves` BEGIN " + bump + "; END",
		"CREATE TRIGGER `_credentialVersion_moves_update` AFTER UPDATE OF `state` ON `_moves` BEGIN " + bump + "; END",
		"CREATE TRIGGER `_credentialVersion_moves_delete` AFTER DELETE ON `_moves` BEGIN " + bump + "; END",
	}
	for _, closed := range closedWrites() {
		statements = append(statements, closed.trigger())
	}
	execute("1760000023_moves.go", statements...)
}

// closedWrite is a write that is refused while the tenant moves.
type closedWrite struct {
	table, event string
	columns      string // of an update, "" for all
	tenant       string // the column with the tenant
}

func closedWrites() []closedWrite {
	const of = "`id`, `tenant`, `name`, "
	writes := []closedWrite{
		{"tenants", "UPDATE", "", "id"},
		{"api_keys", "UPDATE", of + "`permissions`, `prefix`, `hash`, `expires`, `revoked`", "tenant"},
		{"webhooks", "UPDATE", of + "`url`, `secret`, `previousSecret`, `previousSecretUntil`, `events`, `filter`, `sealedHeaders`, `maxPerSecond`", "tenant"},
		{"inbound_webhooks", "UPDATE", of + "`access`, `tokenHash`, `prefix`, `mapping`, `verifySecret`, `disabled`", "tenant"},
		{"inbound_requests", "INSERT", "", "tenant"},
		{"_imports", "INSERT", "", "tenant"},
		{"_imports", "UPDATE", "", "tenant"},
	}
	for _, table := range []string{"api_keys", "webhooks", "inbound_webhooks"} {
		writes = append(writes, closedWrite{table, "INSERT", "", "tenant"}, closedWrite{table, "DELETE", "", "tenant"})
	}
	return writes
}

func (w closedWrite) trigger() string {
	name := "_moves_" + strings.TrimPrefix(w.table, "_") + "_" + strings.ToLower(w.event)
	event, row := w.event, "NEW"
	if w.columns != "" {
		event += " OF " + w.columns
	}
	if w.event != "INSERT" {
		row = "OLD"
	}
	return fmt.Sprintf("CREATE TRIGGER `%s` BEFORE %s ON `%s` WHEN EXISTS (SELECT 1 FROM `_moves` WHERE `tenant` = %s.`%s` AND `open` = 0) BEGIN "+
		"SELECT RAISE(ABORT, 'tenant_moving'); END", name, event, w.table, row, w.tenant)
}
