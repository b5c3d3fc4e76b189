package delivery

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks the file for this process; false means that another one has it. The lock belongs to the open file and
// goes with it, even when the process is killed.
func tryLock(file *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
