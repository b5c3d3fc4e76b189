package backup

// CheckOwner returns nil: on Windows, files inherit the permissions of the directory.
func CheckOwner(string) error { return nil }
