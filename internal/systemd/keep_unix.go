//go:build unix

package systemd

import (
	"os"

	"golang.org/x/sys/unix"
)

// keepOpen lets the file stay open where the process goes on with another image.
func keepOpen(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Control(func(fd uintptr) { _, failure = unix.FcntlInt(fd, unix.F_SETFD, 0) })
	if err != nil {
		return err
	}
	return failure
}
