//go:build unix

package backup

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// CheckOwner returns an error if root would use the data directory of another user, who could not write the files
// that root creates. A missing directory has no owner.
func CheckOwner(dataDir string) error {
	info, err := os.Stat(dataDir)
	if err != nil || os.Geteuid() != 0 {
		return nil //nolint:nilerr // opening the directory reports the error
	}
	status, known := info.Sys().(*syscall.Stat_t)
	if !known || status.Uid == 0 {
		return nil
	}
	name := strconv.FormatUint(uint64(status.Uid), 10)
	if owner, err := user.LookupId(name); err == nil {
		name = owner.Username
	}
	return fmt.Errorf("the data directory %s belongs to %s: run this command as that user, "+
		"not as root, whose files that user could not write", dataDir, name)
}
