package script

// checkWriters does nothing: on Windows a file inherits the permissions of its folder.
func checkWriters(string) error { return nil }
