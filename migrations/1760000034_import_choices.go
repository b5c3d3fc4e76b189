package migrations

// An import has the choices by which its rows are read: see sheet.Choices. `headings` is the number of the row with
// the columns' names, `above` the text of the rows above it, and `remarks` what a person should know about columns;
// those in `_importRows` are about rows, by their index there. `_importNotes` has warnings about rows that are
// applied, which are deleted with their contacts. `_importContacts` has the first row that has changed each contact,
// so that repeated ones are found, and is emptied after the import.
func init() {
	execute("1760000034_import_choices.go",
		"ALTER TABLE `_imports` ADD `existing` TEXT NOT NULL DEFAULT ''",
		"ALTER TABLE `_imports` ADD `new` TEXT NOT NULL DEFAULT ''",
		"ALTER TABLE `_imports` ADD `country` TEXT NOT NULL DEFAULT ''",
		"ALTER TABLE `_imports` ADD `strict` INTEGER NOT NULL DEFAULT 0",
		"ALTER TABLE `_imports` ADD `headings` INTEGER NOT NULL DEFAULT 1",
		"ALTER TABLE `_imports` ADD `above` TEXT NOT NULL DEFAULT '[]'",
		"ALTER TABLE `_imports` ADD `remarks` TEXT NOT NULL DEFAULT '[]'",
		"ALTER TABLE `_imports` ADD `rowsSkipped` INTEGER NOT NULL DEFAULT 0",
		"ALTER TABLE `_imports` ADD `rowsRepeated` INTEGER NOT NULL DEFAULT 0",
		"ALTER TABLE `_imports` ADD `warnings` INTEGER NOT NULL DEFAULT 0",
		"ALTER TABLE `_importRows` ADD `remarks` TEXT NOT NULL DEFAULT '{}'",
		"CREATE TABLE `_importNotes` (`import` TEXT NOT NULL, `row` INTEGER NOT NULL, `text` TEXT NOT NULL, `tenant` TEXT NOT NULL, `contact` TEXT NOT NULL DEFAULT '', PRIMARY KEY (`import`, `row`, `text`))",
		"CREATE INDEX `idx__importNotes_tenant` ON `_importNotes` (`tenant`)",
		"CREATE INDEX `idx__importNotes_contact` ON `_importNotes` (`contact`) WHERE `contact` != ''",
		"CREATE TABLE `_importContacts` (`import` TEXT NOT NULL, `contact` TEXT NOT NULL, `row` INTEGER NOT NULL, `tenant` TEXT NOT NULL, PRIMARY KEY (`import`, `contact`))",
		"CREATE INDEX `idx__importContacts_tenant` ON `_importContacts` (`tenant`)",
	)
}
