package migrations

// A notice describes a change of a webhook, a key or the program, and exists once for each change: `episode`
// says which one. A condition that lasts, such as a failing webhook, has a time in `ended` once it is over; any
// other notice has it from the start. `data` is that of the event. A notice has one row in `_noticeMails` for
// each recipient: a member or a superuser. Rows with the same `mail` are sent together. `due` is when to send
// them, or to try again.
func init() {
	execute("1760000027_notices.go",
		"CREATE TABLE `_notices` (`id` TEXT PRIMARY KEY NOT NULL, `kind` TEXT NOT NULL, `subject` TEXT NOT NULL, `episode` TEXT NOT NULL, "+
			"`tenant` TEXT NOT NULL, `data` TEXT NOT NULL, `created` TEXT NOT NULL, `ended` TEXT NOT NULL, UNIQUE (`kind`, `subject`, `episode`))",
		"CREATE INDEX `idx__notices_tenant` ON `_notices` (`tenant`)",
		"CREATE INDEX `idx__notices_created` ON `_notices` (`created`)",
		"CREATE INDEX `idx__notices_lasting` ON `_notices` (`kind`, `subject`) WHERE `ended` = ''",
		"CREATE TABLE `_noticeMails` (`notice` TEXT NOT NULL, `recipient` TEXT NOT NULL, `urgent` INTEGER NOT NULL, `due` TEXT NOT NULL, "+
			"`mail` TEXT NOT NULL DEFAULT '', `attempts` INTEGER NOT NULL DEFAULT 0, `done` TEXT NOT NULL DEFAULT '', "+
			"PRIMARY KEY (`notice`, `recipient`)) WITHOUT ROWID",
		"CREATE INDEX `idx__noticeMails_due` ON `_noticeMails` (`due`) WHERE `done` = ''",
		"CREATE INDEX `idx__noticeMails_recipient` ON `_noticeMails` (`recipient`, `done`)",
		"CREATE TRIGGER `_noticeMails_notice_delete` AFTER DELETE ON `_notices` BEGIN DELETE FROM `_noticeMails` WHERE `notice` = OLD.`id`; END",
	)
}
