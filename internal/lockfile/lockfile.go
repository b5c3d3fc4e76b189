// Package lockfile provides file locks by which processes coordinate access to a data directory. A lock belongs to
// the open file and ends with the process, even if it is killed. It uses flock (not fcntl, whose locks end when any
// other handle of the file is closed), and LockFileEx on Windows.
package lockfile

import (
	"errors"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// ErrHeld means that another process, or another part of this one, holds the lock.
var ErrHeld = errors.New("the lock is held")

// Share takes a shared lock on a file, which it creates if needed, until release. It does not wait: the error is
// ErrHeld if another process has the lock exclusively. The lock also ends when release is garbage collected: keep it.
func Share(path string) (release func(), err error) { return lock(path, (*flock.Flock).TryRLock) }

// Own takes the lock exclusively. The error is ErrHeld if anyone else holds it.
func Own(path string) (release func(), err error) { return lock(path, (*flock.Flock).TryLock) }

func lock(path string, try func(*flock.Flock) (bool, error)) (release func(), err error) {
	// opened for writing: NFS grants exclusive locks only then
	file := flock.New(path, flock.SetFlag(os.O_RDWR|os.O_CREATE), flock.SetPermissions(0o600))
	for {
		held, err := try(file)
		switch {
		case held:
			// closes the file, and also unlocks it: a child process has the handle until it runs its program
			return func() { _ = file.Close() }, nil
		case err == nil:
			return nil, ErrHeld
		case !errors.Is(err, syscall.EINTR):
			return nil, err
		}
	}
}
