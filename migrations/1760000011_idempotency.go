package migrations

// The first answers of requests with an Idempotency-Key (or a webhook-id), by a hash of scope and key.
func init() {
	execute("1760000011_idempotency.go",
		"CREATE TABLE `_idempotency` ("+
			"`key` TEXT PRIMARY KEY NOT NULL, "+
			"`request` TEXT NOT NULL, "+
			"`status` INTEGER NOT NULL, "+
			"`location` TEXT NOT NULL, "+
			"`body` TEXT NOT NULL, "+
			"`contact` TEXT NOT NULL, "+
			"`created` TEXT NOT NULL) WITHOUT ROWID",
		"CREATE INDEX `idx__idempotency_created` ON `_idempotency` (`created`)",
		"CREATE INDEX `idx__idempotency_contact` ON `_idempotency` (`contact`) WHERE `contact` != ''",
	)
}
