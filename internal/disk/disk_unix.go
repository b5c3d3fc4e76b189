//go:build unix

package disk

import "golang.org/x/sys/unix"

// Of returns the space of the file system of a directory.
func Of(folder string) (Space, error) {
	var found unix.Statfs_t
	if err := unix.Statfs(folder, &found); err != nil {
		return Space{}, err
	}
	block := uint64(found.Bsize)
	return Space{Free: found.Bavail * block, Size: found.Blocks * block}, nil
}
