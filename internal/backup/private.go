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

// makePrivate removes the permissions of other users on a data directory, on the program's files at its top, and on
// its backups. An earlier version may have created them, or they may have been copied. Files further below are then
// out of reach. Other files in the directory stay as they are, and so do shared directories such as /tmp.
func makePrivate(dataDir string) error {
	names, err := Exposed(dataDir)
	backups, backupsErr := exposedIn(filepath.Join(dataDir, core.LocalBackupsDirName), func(string) bool { return true })
	errs := []error{err, ignoreMissing(backupsErr)}
	for _, name := range backups {
		names = append(names, filepath.Join(core.LocalBackupsDirName, name))
	}
	for _, name := range names {
		path := filepath.Join(dataDir, name)
		info, err := os.Stat(path)
		if err == nil {
			err = os.Chmod(path, info.Mode().Perm()&^othersMay)
		}
		errs = append(errs, ignoreMissing(err))
	}
	return errors.Join(errs...)
}

// Exposed lists the names at the top of the data directory that other users may use, and "." for the directory itself.
func Exposed(dataDir string) (names []string, err error) {
	info, err := os.Stat(dataDir)
	if err != nil {
		return nil, err
	}
	names, err = exposedIn(dataDir, isOwnName)
	if isExposed(info) && info.Mode()&fs.ModeSticky == 0 {
		names = append([]string{"."}, names...)
	}
	return names, err
}

// exposedIn lists the wanted names in a directory that other users may use.
func exposedIn(folder string, wanted func(name string) bool) (names []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && wanted(entry.Name()) && isExposed(info) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// isExposed reports whether other users may use a file or directory. Links count as private, because their targets
// are elsewhere. On Windows, all do: files inherit the permissions of the directory.
func isExposed(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&othersMay != 0 && (info.IsDir() || info.Mode().IsRegular())
}

// isOwnName reports whether a name at the top of a data directory belongs to PocketBase or this program.
func isOwnName(name string) bool {
	folders := []string{
		core.LocalBackupsDirName, core.LocalStorageDirName, core.LocalTempDirName,
		core.LocalAutocertCacheDirName, core.LocalNotifyDirName,
	}
	return isDatabase(name) || strings.HasPrefix(name, programPrefix) || slices.Contains(folders, name)
}
