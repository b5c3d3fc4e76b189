//go:build unix

package sqlite

import (
	"cmp"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// mapIndex maps the first bytes of the WAL index of a database. It is never unmapped: closing the file would release
// the locks that SQLite holds on it for this process.
func mapIndex(path string, length int) ([]byte, error) {
	file, err := unix.Open(path+"-shm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the WAL index of %s: %w", path, err)
	}
	var status unix.Stat_t
	if err := unix.Fstat(file, &status); err != nil || status.Size < int64(length) {
		return nil, fmt.Errorf("the WAL index of %s has %d bytes: %w", path, status.Size, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	shared, err := unix.Mmap(file, 0, length, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the WAL index of %s: %w", path, err)
	}
	return shared, nil
}
