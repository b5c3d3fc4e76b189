package migrations

import (
	"slices"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// The index of trigrams has the rows up to a number, so that a new row is marked nowhere, neither when it is written nor when it
// is indexed. `indexed` is 2 where the text has changed since, and tells nothing else. Where the newest rows are deleted, their
// numbers are given again: the mark moves in front of them.
//
// Each text is indexed with two line breaks behind it. So a word of one or two letters begins a trigram wherever it stands, and
// `_contactTerms` tells which. The index is built anew behind the writes; until it is, a search reads the rows.
func init() {
	const file = "1761000008_search_watermark.go"
	empty := []string{
		"DROP TABLE `_contactGrams`",
		"CREATE VIRTUAL TABLE `_contactGrams` USING fts5(`text`, tokenize='trigram', content='', contentless_delete=1, detail=none)",
		"INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('automerge', 0)",
		"INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('crisismerge', 1000)",
		"INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('usermerge', 16)",
		"DELETE FROM `_contactUnindexed`",
	}
	up := slices.Concat(empty, []string{
		"CREATE VIRTUAL TABLE `_contactTerms` USING fts5vocab('_contactGrams', 'row')",
		"CREATE TABLE `_contactIndexed` (`upTo` INTEGER NOT NULL)",
		"INSERT INTO `_contactIndexed` VALUES (0)",
		"CREATE TRIGGER `_contactIndexed_search_delete` AFTER DELETE ON `_contactSearch` " +
			"WHEN OLD.`seq` > (SELECT ifnull(max(`seq`), 0) FROM `_contactSearch`) BEGIN " +
			"UPDATE `_contactIndexed` SET `upTo` = min(`upTo`, (SELECT ifnull(max(`seq`), 0) FROM `_contactSearch`)); END",
		"DROP INDEX `idx__contactSearch_tail`",
		"CREATE INDEX `idx__contactSearch_changed` ON `_contactSearch` (`tenant`, `seq`) WHERE `indexed` = 2",
	})
	down := slices.Concat([]string{
		"DROP INDEX `idx__contactSearch_changed`",
		"DROP TRIGGER `_contactIndexed_search_delete`",
		"DROP TABLE `_contactIndexed`",
		"DROP TABLE `_contactTerms`",
	}, empty, []string{
		"UPDATE `_contactSearch` SET `indexed` = 0 WHERE `indexed` != 0",
		"CREATE INDEX `idx__contactSearch_tail` ON `_contactSearch` (`tenant`, `seq`) WHERE `indexed` != 1",
	})
	run := func(statements []string) func(core.App) error {
		return func(app core.App) error { return executeAll(app, file, statements) }
	}
	m.Register(run(up), run(down), file)
}
