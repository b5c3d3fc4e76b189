//go:build unix

package main

import "syscall"

// keepPrivate has whatever this process makes be the user's own: PocketBase and SQLite leave that to the system, where
// it mostly means that everybody may read.
func keepPrivate() { syscall.Umask(0o077) }
