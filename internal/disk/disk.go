// Package disk returns the size and the free space of file systems.
package disk

// Space is the space of a file system, in bytes.
type Space struct {
	Free uint64 // available to this user
	Size uint64
}
