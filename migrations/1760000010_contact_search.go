package migrations

// The search row of a contact: its folded text in commit order. An INTEGER PRIMARY KEY survives VACUUM, which may
// renumber the implicit rowids of the collection's own table.
//
// `_contactGrams` holds the trigrams of the rows whose `indexed` is 1. It is filled behind the writes, in batches:
// 0 marks a row that is not in it yet, 2 one whose text has changed since. `_contactUnindexed` lists what has to go.
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
		"CREATE INDEX `idx__contactSearch_tail` ON `_contactSearch` (`tenant`, `seq`) WHERE `indexed` != 1",
		"CREATE TABLE `_contactUnindexed` (`seq` INTEGER PRIMARY KEY)",
		"CREATE VIRTUAL TABLE `_contactGrams` USING fts5(`text`, tokenize='trigram', content='', contentless_delete=1, detail=none)",
	)
}
