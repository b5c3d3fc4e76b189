//go:build unix

package systemd

import (
	"os"

	"golang.org/x/sys/unix"
)

// keepOpen keeps the file open when the process executes another image.
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
