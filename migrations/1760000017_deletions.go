package migrations

// Deleted records whose dependent rows are still being deleted in small steps: collection and id. `detail` finds
// stored requests about a deleted contact until all of them are erased.
func init() {
	execute("1760000017_deletions.go",
		"CREATE TABLE `_deletions` ("+
			"`collection` TEXT NOT NULL, "+
			"`record` TEXT NOT NULL, "+
			"`detail` TEXT NOT NULL, "+
			"`created` TEXT NOT NULL, "+
			"PRIMARY KEY (`collection`, `record`)) WITHOUT ROWID",
	)
}
