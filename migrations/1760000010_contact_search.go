package migrations

// The search row of a contact holds its folded text, in commit order. An INTEGER PRIMARY KEY survives VACUUM, which
// may renumber implicit rowids.
//
// `_contactGrams` holds the trigrams of the rows up to the number in `_contactIndexed`. It is filled in the
// background, in batches, so that neither writing nor indexing a row marks it. `indexed` is 2 if the text has changed
// since then. `_contactUnindexed` lists the entries to remove. When the newest rows are deleted, their numbers are
// reused: `_contactIndexed` then moves back before them.
//
// Each text is indexed with two trailing line breaks, so that a word of one or two letters begins a trigram wherever
// it is. `_contactTerms` lists these trigrams.
//
// The program merges the index's segments itself, in short steps. FTS5 would merge within the transaction that
// happens to fill a level; with a million contacts that blocked all writers for more than a second. A merge of
// large segments can exceed a step for a single common trigram, so sixteen segments are merged into one and large
// segments are rare.
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
