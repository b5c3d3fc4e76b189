//go:build !windows

package delivery

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks the file for this process; false means that another one has it. The lock belongs to the open file and
// goes with it, even when the process is killed. (flock, not fcntl: closing any other handle of the file would drop
// that.)
func tryLock(file *os.File) (bool, error) {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
