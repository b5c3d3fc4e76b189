package migrations

// What was deleted and still has belongings, which go in small steps: the record's collection and id. What requests about
// a deleted contact are found by stands in `detail`, until all that is stored about it is erased.
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
