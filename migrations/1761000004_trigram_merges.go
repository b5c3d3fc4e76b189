package migrations

// The index of trigrams merges its segments in steps of the program's own. Left to itself it does so within the
// transaction that happens to fill a level, which held all writers back for more than a second at a million contacts. A
// merge of large segments takes longer for a single common trigram than a step may: so sixteen segments are merged into
// one, and segments become large less often.
func init() {
	execute("1761000004_trigram_merges.go",
		"INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('automerge', 0)",
		"INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('crisismerge', 1000)",
		"INSERT INTO `_contactGrams` (`_contactGrams`, `rank`) VALUES ('usermerge', 16)",
	)
}
