//go:build unix

package cli

import "syscall"

// setUmask makes this process's files readable to its user only. PocketBase and SQLite leave this to the system's
// default, by which mostly everybody may read them.
func setUmask() { syscall.Umask(0o077) }
