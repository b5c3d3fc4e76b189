package backup

// CheckOwner returns nil: on Windows rights are inherited from the folder.
func CheckOwner(string) error { return nil }
