//go:build !linux

package backup

// mountPoints returns nothing where the mounted file systems are not known: renaming then fails at a mount point.
func mountPoints() []string { return nil }
