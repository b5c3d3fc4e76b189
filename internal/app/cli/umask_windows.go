package cli

// setUmask does nothing: on Windows a file inherits its folder's permissions.
func setUmask() {}
