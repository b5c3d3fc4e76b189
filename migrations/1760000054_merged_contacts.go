package migrations

// `_mergedContacts` leads from the ids of contacts that were merged to the contact that remains, which deletes its
// rows with itself. `oldExternalId` is ” if there was none, or once it belongs to another contact. If the remaining
// contact has replaced its own external id in the merge, a row has that one beside its own id.
func init() {
	execute("1760000054_merged_contacts.go",
		"CREATE TABLE `_mergedContacts` (`tenant` TEXT NOT NULL, `oldId` TEXT NOT NULL, "+
			"`oldExternalId` TEXT NOT NULL, `contact` TEXT NOT NULL, PRIMARY KEY (`tenant`, `oldId`, `oldExternalId`))",
		"CREATE INDEX `idx__mergedContacts_externalId` ON `_mergedContacts` (`tenant`, `oldExternalId`) WHERE `oldExternalId` != ''",
		"CREATE INDEX `idx__mergedContacts_contact` ON `_mergedContacts` (`contact`)",
	)
}
