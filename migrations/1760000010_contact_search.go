package migrations

// The search row of a contact: its folded text in commit order. An INTEGER PRIMARY KEY survives VACUUM, which may
// renumber the implicit rowids of the collection's own table.
//
// `_contactGrams` holds the trigrams of the rows up to the number in `_contactIndexed`. It is filled behind the writes, in
// batches, so that a new row is marked nowhere, neither when it is written nor when it is indexed. `indexed` is 2 where the text
// has changed since, and tells nothing else. `_contactUnindexed` lists what has to go. Where the newest rows are deleted, their
// numbers are given again: the mark moves in front of them.
//
// Each text is indexed with two line breaks behind it. So a word of one or two letters begins a trigram wherever it stands, and
// `_contactTerms` tells which.
//
// The program merges the index's segments itself, in short steps. FTS5 would do so within the transaction that happens to fill a
// level, which held all writers back for more than a second at a million contacts. A merge of large segments takes longer for a
// single common trigram than a step may: so sixteen segments are merged into one, and segments become large less often.
func init() {
	execute("1760000010_contact_search.go",
		"CREATE TABLE `_contactSearch` ("+
			"`seq` INTEGER PRIMARY KEY, "+
			"`contact` TEXT NOT NULL UNIQUE, "+
			"`tenant` TEXT NOT NULL, "+
			"`email` TEXT NOT NULL, "+
			"`text` TEXT NOT NULL, "+
			"`indexed` INTEGER NOT NULL DEFAULT 0)",
		"CREATE INDEX `idx__contactSearch_tenant` ON `_contactSearch` (`tenant`, `seq`)",
		"CREATE INDEX `idx__contactSearch_email` ON `_contactSearch` (`tenant`, `email`, `seq`) WHERE `email` != ''",
		"CREATE INDEX `idx__contactSearch_changed` ON `_contactSearch` (`tenant`, `seq`) WHERE `indexed` = 2",
		"CREATE TABLE `_contactUnindexed` (`seq` INTEGER PRIMARY KEY)",
		"CREATE VIRTUAL TABLE `_contactGrams` USING fts5(`text`, tokenize='trigram', content='', contentless_delete=1, detail=none)",
		"INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('automerge', 0)",
		"INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('crisismerge', 1000)",
		"INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('usermerge', 16)",
		"CREATE VIRTUAL TABLE `_contactTerms` USING fts5vocab('_contactGrams', 'row')",
		"CREATE TABLE `_contactIndexed` (`upTo` INTEGER NOT NULL)",
		"INSERT INTO `_contactIndexed` VALUES (0)",
		"CREATE TRIGGER `_contactIndexed_search_delete` AFTER DELETE ON `_contactSearch` "+
			"WHEN OLD.`seq` > (SELECT ifnull(max(`seq`), 0) FROM `_contactSearch`) BEGIN "+
			"UPDATE `_contactIndexed` SET `upTo` = min(`upTo`, (SELECT ifnull(max(`seq`), 0) FROM `_contactSearch`)); END",
	)
}
