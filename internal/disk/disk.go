// Package disk tells how much room there is.
package disk

// Space is the room of a file system, in bytes.
type Space struct {
	Free uint64 // for this user
	Size uint64
}
