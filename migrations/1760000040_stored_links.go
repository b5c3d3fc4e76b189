package migrations

import (
	"fmt"
	"slices"
)

// What finds the people in stored requests counts in `_stored`, too. A request with many people has them in one row of
// `_inboundCrowds`, 15 characters each: a contact's id, or the start of an address's digest. Earlier versions wrote a
// row of `_inboundPeople` for each, two thousand for a body of 18 KB; a million of these are packed in some seconds.
//
// Links are deleted before their request, because the request has the tenant for which they count.
func init() {
	revertible("1760000040_stored_links.go", slices.Concat(packPeople, countPeople()), unpackPeople())
}

// maxLinks is how many people a request has in `_inboundPeople` at most.
const maxLinks = "16"

const linkTable = "(`person` TEXT NOT NULL, `request` TEXT NOT NULL, PRIMARY KEY (`person`, `request`)) WITHOUT ROWID"

// packPeople moves the people of requests with many. The table is built again, because that takes a fraction of the
// time of the deletions. Of contacts that are being erased, the tenant is noted, whose crowds may have them.
var packPeople = []string{
	"CREATE TABLE `_inboundCrowds` (`tenant` TEXT NOT NULL, `request` TEXT NOT NULL, `people` TEXT NOT NULL, PRIMARY KEY (`tenant`, `request`)) WITHOUT ROWID",
	"INSERT INTO `_inboundCrowds` (`tenant`, `request`, `people`) SELECT r.`tenant`, r.`id`, p.`people` FROM " +
		"(SELECT `request`, group_concat(substr(`person` || '               ', 1, 15), '') AS `people` FROM `_inboundPeople` " +
		"GROUP BY `request` HAVING count(*) > " + maxLinks + ") p JOIN `inbound_requests` r ON r.`id` = p.`request`",
	"DROP TRIGGER `_inboundRequest_delete`",
	"DROP INDEX `idx__inboundPeople_request`",
	"CREATE TABLE `_inboundLinks` " + linkTable,
	"INSERT INTO `_inboundLinks` SELECT `person`, `request` FROM `_inboundPeople` WHERE `request` NOT IN (SELECT `request` FROM `_inboundCrowds`)",
	"DROP TABLE `_inboundPeople`",
	"ALTER TABLE `_inboundLinks` RENAME TO `_inboundPeople`",
	"CREATE INDEX `idx__inboundPeople_request` ON `_inboundPeople` (`request`)",
	"CREATE TRIGGER `_inboundRequest_people` BEFORE DELETE ON `inbound_requests` BEGIN " +
		"DELETE FROM `_inboundPeople` WHERE `request` = OLD.`id`; " +
		"DELETE FROM `_inboundCrowds` WHERE `tenant` = OLD.`tenant` AND `request` = OLD.`id`; END",
	"CREATE TRIGGER `_inboundRequest_delete` AFTER DELETE ON `inbound_requests` BEGIN " +
		"DELETE FROM `_idempotency` WHERE `inboundRequest` = OLD.`id` AND `inboundRequest` != ''; END",
	"UPDATE `_deletions` SET `detail` = `detail` || coalesce((SELECT ' crowds:' || e.`tenant` FROM `events` e " +
		"WHERE e.`contact` = `_deletions`.`record` LIMIT 1), '') WHERE `collection` = 'contacts'",
}

// What a row of each table takes on disk with its indexes. Before, a request and a response counted 1 KiB more than
// their content.
const (
	requestSize = "(COALESCE(octet_length(%[1]s.`body`), 0) + COALESCE(octet_length(%[1]s.`result`), 0) + 384)"
	answerSize  = "(octet_length(%[1]s.`body`) + 384)"
	linkSize    = "(3 * octet_length(%[1]s.`person`) + 64)"
	crowdSize   = "(octet_length(%[1]s.`people`) + 128)"
)

// countPeople counts all rows again.
func countPeople() []string {
	statements := dropCounters("inbound_requests", "_idempotency")
	statements = append(statements, "UPDATE `_stored` SET `bytes` = "+
		countedOf(requestSize, "`inbound_requests` x WHERE x.`tenant`")+" + "+
		countedOf(answerSize, "`_idempotency` x WHERE x.`tenant`")+" + "+
		countedOf(linkSize, "`inbound_requests` r CROSS JOIN `_inboundPeople` x ON x.`request` = r.`id` WHERE r.`tenant`")+" + "+
		countedOf(crowdSize, "`_inboundCrowds` x WHERE x.`tenant`"))
	statements = append(statements, countBytes("inbound_requests", requestSize)...)
	statements = append(statements, countBytes("_idempotency", answerSize)...)
	statements = append(statements, countLinks("_inboundPeople", linkSize)...)
	statements = append(statements, countLinks("_inboundCrowds", crowdSize)...)
	// has the tenants above quota.Limit
	return append(statements, "CREATE INDEX `idx__stored_over` ON `_stored` (`tenant`) WHERE `bytes` > 67108864")
}

// countedOf returns an expression for the bytes of a tenant in `_stored`: those of the rows x of a table.
func countedOf(size, from string) string {
	return "(SELECT coalesce(sum" + fmt.Sprintf(size, "x") + ", 0) FROM " + from + " = `_stored`.`tenant`)"
}

// countLinks returns the triggers that count the rows of a table for the tenants of their requests.
func countLinks(table, size string) []string {
	counter := func(event, sign, row string) string {
		return fmt.Sprintf("CREATE TRIGGER `_stored_%[1]s_%[2]s` AFTER %[2]s ON `%[1]s` BEGIN UPDATE `_stored` SET `bytes` = `bytes` %[3]s %[4]s "+
			"WHERE `tenant` = (SELECT `tenant` FROM `inbound_requests` WHERE `id` = %[5]s.`request`); END", table, event, sign, fmt.Sprintf(size, row), row)
	}
	return []string{counter("insert", "+", "NEW"), counter("delete", "-", "OLD")}
}

func dropCounters(tables ...string) (statements []string) {
	for _, table := range tables {
		for _, event := range []string{"insert", "update", "delete"} {
			statements = append(statements, "DROP TRIGGER IF EXISTS `_stored_"+table+"_"+event+"`")
		}
	}
	return statements
}

// unpackPeople erases requests with many people: an earlier version could not erase them with one of these.
func unpackPeople() []string {
	const request, answer = "inbound_requests", "_idempotency"
	statements := append([]string{"DROP INDEX `idx__stored_over`"},
		dropCounters(request, answer, "_inboundPeople", "_inboundCrowds")...)
	statements = append(statements,
		"DROP TRIGGER `_inboundRequest_people`",
		"DROP TRIGGER `_inboundRequest_delete`",
		"CREATE TRIGGER `_inboundRequest_delete` AFTER DELETE ON `inbound_requests` BEGIN "+
			"DELETE FROM `_idempotency` WHERE `inboundRequest` = OLD.`id` AND `inboundRequest` != ''; "+
			"DELETE FROM `_inboundPeople` WHERE `request` = OLD.`id`; END",
		"UPDATE `inbound_requests` SET `erased` = 1, `contentType` = '', `body` = '', `result` = '{}' WHERE `id` IN (SELECT `request` FROM `_inboundCrowds`)",
		"DROP TABLE `_inboundCrowds`",
		"UPDATE `_stored` SET `bytes` = "+countedOf(formerRequestSize, "`inbound_requests` x WHERE x.`tenant`")+" + "+
			countedOf(formerAnswerSize, "`_idempotency` x WHERE x.`tenant`"),
	)
	return append(statements,
		slices.Concat(countBytes(request, formerRequestSize), countBytes(answer, formerAnswerSize))...)
}

const (
	formerRequestSize = "(COALESCE(octet_length(%[1]s.`body`), 0) + COALESCE(octet_length(%[1]s.`result`), 0) + 1024)"
	formerAnswerSize  = "(octet_length(%[1]s.`body`) + 1024)"
)
