package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"
)

// othersMay are the rights of everybody but the owner.
const othersMay fs.FileMode = 0o077

// programPrefix begins the names of what this program keeps in a data folder, locks of other packages included.
const programPrefix = ".contactbase"

// makePrivate takes the rights of others on a data folder, and on what belongs to it there: it may have been made by an
// earlier version, or been copied. What is further below is out of their reach then. Files of somebody else's in it
// stay as they are, as do folders that everybody shares, such as /tmp.
func makePrivate(dataDir string) error {
	if runtime.GOOS == "windows" {
		return nil // it has other rights, which the folder passes on
	}
	info, err := os.Stat(dataDir)
	if err != nil {
		return err
	}
	var errs []error
	if info.Mode()&fs.ModeSticky == 0 {
		errs = append(errs, restrict(dataDir, info))
	}
	errs = append(errs,
		restrictEntries(dataDir, isOwnName),
		restrictEntries(filepath.Join(dataDir, core.LocalBackupsDirName), func(string) bool { return true }))
	return errors.Join(errs...)
}

// isOwnName tells whether a name at the top of a data folder is PocketBase's or this program's.
func isOwnName(name string) bool {
	folders := []string{core.LocalBackupsDirName, core.LocalStorageDirName, core.LocalTempDirName, core.LocalAutocertCacheDirName, core.LocalNotifyDirName}
	return isDatabase(name) || strings.HasPrefix(name, programPrefix) || slices.Contains(folders, name)
}

func restrictEntries(folder string, wanted func(name string) bool) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ignoreMissing(err)
	}
	var errs []error
	for _, entry := range entries {
		if !wanted(entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if err == nil {
			err = restrict(filepath.Join(folder, entry.Name()), info)
		}
		errs = append(errs, ignoreMissing(err))
	}
	return errors.Join(errs...)
}

// restrict leaves links alone: what they lead to is elsewhere.
func restrict(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&othersMay == 0 || !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	return os.Chmod(path, info.Mode().Perm()&^othersMay)
}

// Exposed lists what makePrivate would take from others, relative to the data folder.
func Exposed(dataDir string) (names []string, err error) {
	if runtime.GOOS == "windows" {
		return nil, nil
	}
	info, err := os.Stat(dataDir)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&othersMay != 0 && info.Mode()&fs.ModeSticky == 0 {
		names = append(names, ".")
	}
	entries, err := os.ReadDir(dataDir)
	for _, entry := range entries {
		info, infoErr := entry.Info()
		if infoErr == nil && isOwnName(entry.Name()) && (info.IsDir() || info.Mode().IsRegular()) && info.Mode().Perm()&othersMay != 0 {
			names = append(names, entry.Name())
		}
	}
	return names, err
}
