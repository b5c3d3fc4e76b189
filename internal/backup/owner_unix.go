//go:build unix

package backup

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// CheckOwner returns an error where root would work on somebody else's data folder: what root makes there, the owner cannot
// write. A folder that is not there yet belongs to nobody.
func CheckOwner(dataDir string) error {
	info, err := os.Stat(dataDir)
	if err != nil || os.Geteuid() != 0 {
		return nil //nolint:nilerr // whoever opens the folder next says what is wrong with it
	}
	status, known := info.Sys().(*syscall.Stat_t)
	if !known || status.Uid == 0 {
		return nil
	}
	name := strconv.FormatUint(uint64(status.Uid), 10)
	if owner, err := user.LookupId(name); err == nil {
		name = owner.Username
	}
	return fmt.Errorf("the data folder %s belongs to %s: run this as that user, and not as root, whose files there nobody else could write", dataDir, name)
}
