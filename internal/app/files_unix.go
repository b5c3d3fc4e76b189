//go:build unix

package app

import "golang.org/x/sys/unix"

// openFiles returns how many files the process may open, 0 if unknown. Go's runtime raises the limit to the highest
// that the system grants.
func openFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur) // nolint:unconvert // it is signed on some systems
}
