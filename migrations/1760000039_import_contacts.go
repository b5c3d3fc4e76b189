package migrations

// A row of `_importContacts` is deleted with its contact, which needs an index. Until now it stayed until the import
// had ended.
func init() {
	execute("1760000039_import_contacts.go",
		"DELETE FROM `_importContacts` WHERE NOT EXISTS (SELECT 1 FROM `contacts` c WHERE c.`id` = `contact`)",
		"CREATE INDEX `idx__importContacts_contact` ON `_importContacts` (`contact`)",
	)
}
