package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// What is stored of calls, and how much of it belongs to a tenant.
//
// `_stored` counts the bytes of a tenant's inbound requests and remembered answers, with a kibibyte for each row itself.
// Triggers keep it, so that it holds for every way in which rows come and go. `_inboundPeople` tells which requests hold
// something about a person: a contact's id, or the digest of an address. The remembered answer of an inbound call is the
// result of its request, which goes with the request.
func init() {
	const file = "1761000001_stored_requests.go"
	m.Register(func(app core.App) error {
		requests, err := app.FindCollectionByNameOrId("inbound_requests")
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		requests.Fields.Add(&core.BoolField{Name: "erased", System: true})
		requests.AddIndex("idx_inbound_requests_tenant", false, "`tenant`, `created`", "")
		if err := app.Save(requests); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, statement := range storedRequests() {
			if _, err := app.DB().NewQuery(statement).Execute(); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		return nil
	}, nil, file)
}

// How many bytes a row %[1]s counts.
const (
	requestSize = "(COALESCE(octet_length(%[1]s.`body`), 0) + COALESCE(octet_length(%[1]s.`result`), 0) + 1024)"
	answerSize  = "(octet_length(%[1]s.`body`) + 1024)"
)

// storedRequests are the statements for what is stored already, and for the tables that count.
func storedRequests() []string {
	return append([]string{
		"ALTER TABLE `_idempotency` ADD COLUMN `tenant` TEXT NOT NULL DEFAULT ''",
		"ALTER TABLE `_idempotency` ADD COLUMN `inboundRequest` TEXT NOT NULL DEFAULT ''",
		// the answers of inbound calls, found again by what was answered in the same moment
		"UPDATE `_idempotency` SET `inboundRequest` = COALESCE((SELECT r.`id` FROM `inbound_requests` r " +
			"WHERE r.`created` BETWEEN strftime('%Y-%m-%d %H:%M:%fZ', `_idempotency`.`created`, '-5 seconds') AND strftime('%Y-%m-%d %H:%M:%fZ', `_idempotency`.`created`, '+5 seconds') " +
			"AND `_idempotency`.`body` = '{\"data\":' || r.`result` || '}' LIMIT 1), '') WHERE `contact` = ''",
		"UPDATE `_idempotency` SET `body` = '' WHERE `inboundRequest` != ''",
		"UPDATE `_idempotency` SET `tenant` = COALESCE((SELECT `tenant` FROM `contacts` WHERE `id` = `_idempotency`.`contact`), " +
			"(SELECT `tenant` FROM `inbound_requests` WHERE `id` = `_idempotency`.`inboundRequest`), '')",
		"CREATE INDEX `idx__idempotency_tenant` ON `_idempotency` (`tenant`, `created`)",
		"CREATE INDEX `idx__idempotency_inboundRequest` ON `_idempotency` (`inboundRequest`) WHERE `inboundRequest` != ''",

		"CREATE TABLE `_inboundPeople` (`person` TEXT NOT NULL, `request` TEXT NOT NULL, PRIMARY KEY (`person`, `request`)) WITHOUT ROWID",
		"CREATE INDEX `idx__inboundPeople_request` ON `_inboundPeople` (`request`)",
		"INSERT OR IGNORE INTO `_inboundPeople` (`person`, `request`) SELECT json_extract(j.`value`, '$.id'), r.`id` FROM `inbound_requests` r, " +
			"json_each(CASE WHEN json_valid(r.`result`) THEN r.`result` ELSE '{}' END, '$.results') j WHERE json_extract(j.`value`, '$.id') != ''",
		// people who are gone already
		"UPDATE `inbound_requests` SET `erased` = 1, `body` = '', `contentType` = '', `result` = json_set(`result`, '$.results', json('[]')) " +
			"WHERE `id` IN (SELECT p.`request` FROM `_inboundPeople` p WHERE NOT EXISTS (SELECT 1 FROM `contacts` c WHERE c.`id` = p.`person`))",

		"CREATE TABLE `_stored` (`tenant` TEXT PRIMARY KEY NOT NULL, `bytes` INTEGER NOT NULL) WITHOUT ROWID",
		"INSERT INTO `_stored` (`tenant`, `bytes`) SELECT `tenant`, SUM(`bytes`) FROM (" +
			"SELECT r.`tenant`, " + fmt.Sprintf(requestSize, "r") + " AS `bytes` FROM `inbound_requests` r UNION ALL " +
			"SELECT i.`tenant`, " + fmt.Sprintf(answerSize, "i") + " AS `bytes` FROM `_idempotency` i) GROUP BY `tenant`",
	}, storedTriggers()...)
}

// storedTriggers are the statements that have the counts follow.
func storedTriggers() (statements []string) {
	const (
		add      = "INSERT INTO `_stored` (`tenant`, `bytes`) VALUES (NEW.`tenant`, %[1]s) ON CONFLICT (`tenant`) DO UPDATE SET `bytes` = `bytes` + excluded.`bytes`"
		subtract = "UPDATE `_stored` SET `bytes` = `bytes` - %[1]s WHERE `tenant` = OLD.`tenant`"
	)
	for table, size := range map[string]string{"inbound_requests": requestSize, "_idempotency": answerSize} {
		more, less := fmt.Sprintf(add, fmt.Sprintf(size, "NEW")), fmt.Sprintf(subtract, fmt.Sprintf(size, "OLD"))
		statements = append(statements,
			fmt.Sprintf("CREATE TRIGGER `_stored_%[1]s_insert` AFTER INSERT ON `%[1]s` BEGIN %[2]s; END", table, more),
			fmt.Sprintf("CREATE TRIGGER `_stored_%[1]s_update` AFTER UPDATE ON `%[1]s` BEGIN %[2]s; %[3]s; END", table, less, more),
			fmt.Sprintf("CREATE TRIGGER `_stored_%[1]s_delete` AFTER DELETE ON `%[1]s` BEGIN %[2]s; END", table, less),
		)
	}
	return append(statements,
		"CREATE TRIGGER `_inboundRequest_delete` AFTER DELETE ON `inbound_requests` BEGIN "+
			"DELETE FROM `_idempotency` WHERE `inboundRequest` = OLD.`id` AND `inboundRequest` != ''; "+
			"DELETE FROM `_inboundPeople` WHERE `request` = OLD.`id`; END",
		"CREATE TRIGGER `_stored_tenants_delete` AFTER DELETE ON `tenants` BEGIN DELETE FROM `_stored` WHERE `tenant` = OLD.`id`; END",
	)
}
