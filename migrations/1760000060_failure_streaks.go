package migrations

// `streak` is how many attempts of a webhook have failed since the last success in the hour or minute of the row.
func init() {
	revertible("1760000060_failure_streaks.go", []string{
		"ALTER TABLE `_activity` ADD COLUMN `streak` INTEGER NOT NULL DEFAULT 0",
	}, []string{
		"ALTER TABLE `_activity` DROP COLUMN `streak`",
	})
}
