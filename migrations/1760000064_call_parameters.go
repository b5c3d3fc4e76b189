package migrations

// A rejected call has the names of its invalid parameters.
func init() {
	revertible("1760000064_call_parameters.go", []string{
		"ALTER TABLE `_keptCalls` ADD COLUMN `parameters` TEXT NOT NULL DEFAULT ''",
	}, []string{
		"ALTER TABLE `_keptCalls` DROP COLUMN `parameters`",
	})
}
