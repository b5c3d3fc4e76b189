//go:build unix

package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// othersWrite are the permissions of group and others to write.
const othersWrite fs.FileMode = 0o022

// checkWriters returns an error if other users than the program's and root could change what is in a folder: they
// could do all that the program may.
func checkWriters(folder string) error {
	resolved, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(resolved, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path) // the target of a link
		if err != nil {
			return err
		}
		if info.Mode()&othersWrite != 0 {
			return fmt.Errorf("other users may change %s, and with it all data: run chmod go-w %[1]s", path)
		}
		status, known := info.Sys().(*syscall.Stat_t)
		if self := os.Geteuid(); known && status.Uid != 0 && int(status.Uid) != self {
			return fmt.Errorf("%s belongs to the user %d, who may change it, and with it all data: run chown %d %[1]s",
				path, status.Uid, self)
		}
		return nil
	})
}
