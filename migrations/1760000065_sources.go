package migrations

// `_sources` has who has made the change of an event, if a person has made it directly, with the name of that time. A
// row goes with its event, and with the event's personal data. It does not move with the tenant. `person` is who has
// started an import.
func init() {
	execute("1760000065_sources.go",
		"CREATE TABLE `_sources` (`event` TEXT PRIMARY KEY NOT NULL, `person` TEXT NOT NULL) WITHOUT ROWID",
		"CREATE TRIGGER `_sources_event_delete` AFTER DELETE ON `events` BEGIN DELETE FROM `_sources` WHERE `event` = OLD.`id`; END",
		"CREATE TRIGGER `_sources_event_erase` AFTER UPDATE OF `payload` ON `events` BEGIN DELETE FROM `_sources` WHERE `event` = OLD.`id`; END",
		"ALTER TABLE `_imports` ADD COLUMN `person` TEXT NOT NULL DEFAULT ''",
	)
}
