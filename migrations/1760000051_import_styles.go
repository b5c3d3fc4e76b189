package migrations

// `styles` has how the columns of an import write numbers and dates, a number for each: see custom.Style.
func init() {
	execute("1760000051_import_styles.go", "ALTER TABLE `_imports` ADD `styles` TEXT NOT NULL DEFAULT '[]'")
}
