package cli

// setUmask does nothing: on Windows a file inherits the rights of its folder.
func setUmask() {}
