package migrations

// `findings` has what a check has found, by kind: see imports.Finding. A row of `_importNotes` now has all warnings
// about a row of the file, one a line, and the cells of that row.
//
// `_importCreated` has the contacts that an import has created, with the time of its last change of each: a contact that
// has another one has changed since. An undo goes through them in their order, up to `undoCursor`.
func init() {
	revertible("1760000069_import_findings.go", []string{
		"ALTER TABLE `_imports` ADD COLUMN `findings` TEXT NOT NULL DEFAULT '[]'",
		"ALTER TABLE `_imports` ADD COLUMN `undoCursor` TEXT NOT NULL DEFAULT ''",
		"ALTER TABLE `_imports` ADD COLUMN `undoDeleted` INTEGER NOT NULL DEFAULT 0",
		"ALTER TABLE `_imports` ADD COLUMN `undoKept` INTEGER NOT NULL DEFAULT 0",
		"ALTER TABLE `_importNotes` ADD COLUMN `cells` TEXT NOT NULL DEFAULT ''",
		"DROP INDEX `idx__imports_busy`",
		"CREATE INDEX `idx__imports_busy` ON `_imports` (`id`) WHERE `status` IN ('checking', 'running', 'undoing')",
		"CREATE TABLE `_importCreated` (`import` TEXT NOT NULL, `contact` TEXT NOT NULL, `tenant` TEXT NOT NULL, `updated` TEXT NOT NULL, PRIMARY KEY (`import`, `contact`))",
		"CREATE INDEX `idx__importCreated_tenant` ON `_importCreated` (`tenant`)",
		"CREATE INDEX `idx__importCreated_contact` ON `_importCreated` (`contact`)",
	}, []string{
		"DROP TABLE `_importCreated`",
		"DROP INDEX `idx__imports_busy`",
		"CREATE INDEX `idx__imports_busy` ON `_imports` (`id`) WHERE `status` IN ('checking', 'running')",
		"ALTER TABLE `_importNotes` DROP COLUMN `cells`",
		"ALTER TABLE `_imports` DROP COLUMN `undoKept`",
		"ALTER TABLE `_imports` DROP COLUMN `undoDeleted`",
		"ALTER TABLE `_imports` DROP COLUMN `undoCursor`",
		"ALTER TABLE `_imports` DROP COLUMN `findings`",
	})
}
