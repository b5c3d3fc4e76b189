package migrations

// The stored responses of requests with an Idempotency-Key (or a webhook-id), by a hash of scope and key. The
// response of an inbound request is its result in `inbound_requests`, and is deleted with it.
func init() {
	execute("1760000011_idempotency.go",
		"CREATE TABLE `_idempotency` ("+
			"`key` TEXT PRIMARY KEY NOT NULL, "+
			"`request` TEXT NOT NULL, "+
			"`status` INTEGER NOT NULL, "+
			"`location` TEXT NOT NULL, "+
			"`body` TEXT NOT NULL, "+
			"`contact` TEXT NOT NULL, "+
			"`created` TEXT NOT NULL, "+
			"`tenant` TEXT NOT NULL DEFAULT '', "+
			"`inboundRequest` TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
		"CREATE INDEX `idx__idempotency_created` ON `_idempotency` (`created`)",
		"CREATE INDEX `idx__idempotency_contact` ON `_idempotency` (`contact`) WHERE `contact` != ''",
		"CREATE INDEX `idx__idempotency_tenant` ON `_idempotency` (`tenant`, `created`)",
		"CREATE INDEX `idx__idempotency_inboundRequest` ON `_idempotency` (`inboundRequest`) WHERE `inboundRequest` != ''",
	)
}
