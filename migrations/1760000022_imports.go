package migrations

// The rows of an import are in `_importRows`, as JSON lists of lists of cells, some hundred rows in each, with their
// row numbers in the spreadsheet. They are deleted as they are applied: `position` counts them. Rejected rows are in
// `_importRefusals`, with the errors by field. The quota sums up `bytes`, which is therefore in front of long texts.
func init() {
	execute("1760000022_imports.go",
		"CREATE TABLE `_imports` (`id` TEXT PRIMARY KEY, `tenant` TEXT NOT NULL, `name` TEXT NOT NULL, `status` TEXT NOT NULL, "+
			"`separator` TEXT NOT NULL DEFAULT ',', `match` TEXT NOT NULL DEFAULT '', "+
			"`total` INTEGER NOT NULL DEFAULT 0, `bytes` INTEGER NOT NULL DEFAULT 0, `position` INTEGER NOT NULL DEFAULT 0, `rowsCreated` INTEGER NOT NULL DEFAULT 0, "+
			"`rowsUpdated` INTEGER NOT NULL DEFAULT 0, `rowsUnchanged` INTEGER NOT NULL DEFAULT 0, `rowsRefused` INTEGER NOT NULL DEFAULT 0, "+
			"`created` TEXT NOT NULL, `updated` TEXT NOT NULL, `columns` TEXT NOT NULL, `mapping` TEXT NOT NULL, `samples` TEXT NOT NULL DEFAULT '[]')",
		"CREATE INDEX `idx__imports_tenant` ON `_imports` (`tenant`)",
		"CREATE INDEX `idx__imports_busy` ON `_imports` (`id`) WHERE `status` IN ('checking', 'running')",
		"CREATE TABLE `_importRows` (`import` TEXT NOT NULL, `first` INTEGER NOT NULL, `tenant` TEXT NOT NULL, `rows` TEXT NOT NULL, "+
			"`numbers` TEXT NOT NULL, PRIMARY KEY (`import`, `first`))",
		"CREATE INDEX `idx__importRows_tenant` ON `_importRows` (`tenant`)",
		"CREATE TABLE `_importRefusals` (`import` TEXT NOT NULL, `row` INTEGER NOT NULL, `tenant` TEXT NOT NULL, `cells` TEXT NOT NULL, "+
			"`reason` TEXT NOT NULL, `fields` TEXT NOT NULL, PRIMARY KEY (`import`, `row`))",
		"CREATE INDEX `idx__importRefusals_tenant` ON `_importRefusals` (`tenant`)",
	)
}
