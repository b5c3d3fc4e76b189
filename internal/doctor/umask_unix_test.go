//go:build unix

package doctor_test

import "syscall"

// What the tests make is private from the beginning, as what the program makes. A change of the rights of PocketBase's notify folder
// later on would wake its watcher, which reads the app while the test closes it.
func init() { syscall.Umask(0o077) }
