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

// othersMay are the permissions of all users but the owner.
const othersMay fs.FileMode = 0o077

// programPrefix starts the names of this program's files in a data directory, including locks of other packages.
const programPrefix = ".contactbase"

// makePrivate removes the permissions of other users on a data directory and on the program's files at its top. An earlier version may have
// created it, or it may have been copied. Files further below are then out of reach. Other files in the directory stay as they are, and so do
// shared directories such as /tmp.
func makePrivate(dataDir string) error {
	if runtime.GOOS == "windows" {
		return nil // files inherit the permissions of the directory
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

// isOwnName reports whether a name at the top of a data directory belongs to PocketBase or this program.
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

// restrict leaves links alone, because their targets are elsewhere.
func restrict(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&othersMay == 0 || !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	return os.Chmod(path, info.Mode().Perm()&^othersMay)
}

// Exposed lists the names in the data directory that makePrivate would restrict, and "." for the directory itself.
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
