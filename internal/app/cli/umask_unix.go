//go:build unix

package cli

import "syscall"

// setUmask makes files of this process readable to its user alone: PocketBase and SQLite leave that to the system, where
// it mostly means that everybody may read.
func setUmask() { syscall.Umask(0o077) }
