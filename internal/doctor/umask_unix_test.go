//go:build unix

package doctor_test

import "syscall"

// Files that the tests create are private from the beginning, like the program's. Changing the permissions of
// PocketBase's notify directory later would wake its watcher, which reads the app while the test closes it.
func init() { syscall.Umask(0o077) }
