package list

// DuplicatesSQL returns the query for the contacts of a group.
func DuplicatesSQL(by string) string { return comparisons[by].contactsSQL("c.`id`") }
