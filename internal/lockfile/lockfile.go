// Package lockfile locks files that are there for nothing else, by which processes agree on who may do what with a data
// folder. A lock belongs to the open file and ends with the process, even when that is killed. It is one of flock (not of
// fcntl: closing any other handle of the file would drop that) and on Windows of LockFileEx.
package lockfile

import (
	"errors"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// ErrHeld means that another process, or another part of this one, has the lock.
var ErrHeld = errors.New("the lock is held")

// Share locks a file, which it makes where it is missing, beside others that share it, until release. It does not wait:
// the error is ErrHeld where somebody has the file alone. The lock also ends when release is forgotten: keep it.
func Share(path string) (release func(), err error) { return lock(path, (*flock.Flock).TryRLock) }

// Own is Share for one who has the file alone. The error is ErrHeld where anybody else has it.
func Own(path string) (release func(), err error) { return lock(path, (*flock.Flock).TryLock) }

func lock(path string, try func(*flock.Flock) (bool, error)) (release func(), err error) {
	// open for writing: NFS gives an exclusive lock to nobody else
	file := flock.New(path, flock.SetFlag(os.O_RDWR|os.O_CREATE), flock.SetPermissions(0o600))
	for {
		held, err := try(file)
		switch {
		case held:
			// it does not only close the file: a child that is being started has the handle too until it runs its program
			return func() { _ = file.Close() }, nil
		case err == nil:
			return nil, ErrHeld
		case !errors.Is(err, syscall.EINTR):
			return nil, err
		}
	}
}
