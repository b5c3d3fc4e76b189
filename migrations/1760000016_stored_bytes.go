package migrations

import "fmt"

// The bytes of a tenant's inbound requests and stored responses, plus 1 KiB per row. Triggers count them, however
// rows are added and deleted.
func init() {
	const (
		requestSize = "(COALESCE(octet_length(%[1]s.`body`), 0) + COALESCE(octet_length(%[1]s.`result`), 0) + 1024)"
		answerSize  = "(octet_length(%[1]s.`body`) + 1024)"
	)
	statements := []string{
		"CREATE TABLE `_stored` (`tenant` TEXT PRIMARY KEY NOT NULL, `bytes` INTEGER NOT NULL) WITHOUT ROWID",
		"CREATE TRIGGER `_stored_tenants_delete` AFTER DELETE ON `tenants` BEGIN DELETE FROM `_stored` WHERE `tenant` = OLD.`id`; END",
	}
	statements = append(statements, countBytes("inbound_requests", requestSize)...)
	statements = append(statements, countBytes("_idempotency", answerSize)...)
	execute("1760000016_stored_bytes.go", statements...)
}

// countBytes returns the triggers that count a table's rows. size is an expression with %[1]s for the row.
func countBytes(table, size string) []string {
	const (
		add      = "INSERT INTO `_stored` (`tenant`, `bytes`) VALUES (NEW.`tenant`, %[1]s) ON CONFLICT (`tenant`) DO UPDATE SET `bytes` = `bytes` + excluded.`bytes`"
		subtract = "UPDATE `_stored` SET `bytes` = `bytes` - %[1]s WHERE `tenant` = OLD.`tenant`"
	)
	more, less := fmt.Sprintf(add, fmt.Sprintf(size, "NEW")), fmt.Sprintf(subtract, fmt.Sprintf(size, "OLD"))
	return []string{
		fmt.Sprintf("CREATE TRIGGER `_stored_%[1]s_insert` AFTER INSERT ON `%[1]s` BEGIN %[2]s; END", table, more),
		fmt.Sprintf("CREATE TRIGGER `_stored_%[1]s_update` AFTER UPDATE ON `%[1]s` BEGIN %[2]s; %[3]s; END", table, less, more),
		fmt.Sprintf("CREATE TRIGGER `_stored_%[1]s_delete` AFTER DELETE ON `%[1]s` BEGIN %[2]s; END", table, less),
	}
}
