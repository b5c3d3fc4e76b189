package migrations

// Which inbound requests hold personal data: a contact's id, or the digest of an email address.
func init() {
	execute("1760000015_inbound_people.go",
		"CREATE TABLE `_inboundPeople` (`person` TEXT NOT NULL, `request` TEXT NOT NULL, PRIMARY KEY (`person`, `request`)) WITHOUT ROWID",
		"CREATE INDEX `idx__inboundPeople_request` ON `_inboundPeople` (`request`)",
		"CREATE TRIGGER `_inboundRequest_delete` AFTER DELETE ON `inbound_requests` BEGIN "+
			"DELETE FROM `_idempotency` WHERE `inboundRequest` = OLD.`id` AND `inboundRequest` != ''; "+
			"DELETE FROM `_inboundPeople` WHERE `request` = OLD.`id`; END",
	)
}
