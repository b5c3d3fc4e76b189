//go:build unix

package backup

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes an advisory lock on a file, which it makes where it is missing, without waiting. It returns errHeld
// where that is not possible. The lock is flock's: unlike POSIX locks, closing another handle of the file leaves it.
func lockFile(path string, exclusive bool) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, err
	}
	return func() {
		// closing would do, were it not for a child that is being started: it has the handle too until it runs its program
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		_ = file.Close()
	}, nil
}
