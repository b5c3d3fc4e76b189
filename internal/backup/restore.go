package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/lockfile"
)

// Restore replaces the content of a data directory by that of a backup. It returns ErrServed if someone has the
// directory open. It returns ErrInvalid, and leaves the directory as it is, if the backup is not valid. The path of
// the previous content is beside the directory, or in it if the directory is a mounted file system, or "" if there
// was none. The backups in the directory stay.
func Restore(archive, dataDir string) (kept string, err error) {
	_, statErr := os.Stat(dataDir)
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return "", unusable(dataDir, err)
	}
	release, err := lockExclusively(dataDir)
	if err != nil {
		return "", err
	}
	defer release()

	staging := filepath.Join(dataDir, stagingName) // in the directory, so that its content can be moved
	if err := stage(archive, staging); err != nil {
		if errors.Is(statErr, fs.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(dataDir)) // it was created for nothing
		}
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	_ = makePrivate(dataDir) // the next start reports what failed
	return swap(staging, dataDir)
}

// stage extracts and checks an archive in a new directory, which it deletes if that fails.
func stage(archive, staging string) error {
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return err
	}
	if err := extract(archive, staging); err != nil {
		return errors.Join(err, os.RemoveAll(staging))
	}
	return nil
}

// swap moves the content of the data directory away and that of staging in. From the first move to the last a marker
// prevents everyone from opening the directory, even after a crash.
func swap(staging, dataDir string) (kept string, err error) {
	if dataDir, err = resolve(dataDir); err != nil {
		return "", err
	}
	kept, err = createPreviousFolder(dataDir)
	if err != nil {
		return "", err
	}
	marker := filepath.Join(dataDir, markerName)
	if err := writeMarker(marker, kept); err != nil {
		return "", errors.Join(err, os.Remove(kept))
	}
	stay, err := preservedNames(dataDir)
	if err != nil {
		return "", errors.Join(err, removeMarker(marker), os.Remove(kept))
	}
	files := newMover()
	if err := files.moveContent(dataDir, kept, stay...); err != nil {
		err = fmt.Errorf("moving the previous content to %s: %w", kept, err)
		return "", errors.Join(err, removeMarker(marker), os.Remove(kept))
	}
	if err := files.moveContent(staging, dataDir, stay...); err != nil {
		err = fmt.Errorf("moving the content of the backup in: %w", err)
		if back := files.moveContent(kept, dataDir); back != nil {
			return kept, errors.Join(err, back) // the marker stays
		}
		return "", errors.Join(err, removeMarker(marker), os.Remove(kept))
	}
	if err := errors.Join(syncFolder(kept), syncFolder(filepath.Dir(kept)), syncFolder(dataDir)); err != nil {
		return kept, err
	}
	if err := removeMarker(marker); err != nil {
		return kept, err
	}
	if err := os.Remove(kept); err == nil { // it is empty: there was nothing to keep
		return "", nil
	}
	return kept, nil
}

// resolve returns the absolute path of a directory without links, as mount points are named.
func resolve(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// preservedNames lists what stays in the data directory: the same as in PocketBase's restore, and what
// belongs to this package.
func preservedNames(dataDir string) ([]string, error) {
	stay := []string{core.LocalBackupsDirName, core.LocalAutocertCacheDirName, lostAndFound}
	entries, err := os.ReadDir(dataDir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ownPrefix) && entry.Name() != upgradingName {
			stay = append(stay, entry.Name())
		}
	}
	return stay, nil
}

// createPreviousFolder creates the directory for the previous content, on the same file system.
func createPreviousFolder(dataDir string) (string, error) {
	suffix := "before-restore-" + time.Now().UTC().Format("20060102T150405.000Z")
	beside := filepath.Clean(dataDir) + "." + suffix
	if err := os.Mkdir(beside, 0o700); err == nil {
		probe := filepath.Join(dataDir, stagingName, ".probe")
		err := os.Mkdir(probe, 0o700)
		if err == nil {
			err = os.Rename(probe, filepath.Join(beside, ".probe"))
		}
		if err == nil {
			return beside, os.Remove(filepath.Join(beside, ".probe"))
		}
		if err := errors.Join(os.RemoveAll(probe), os.Remove(beside)); err != nil {
			return "", err
		}
	}
	within := filepath.Join(dataDir, ownPrefix+suffix)
	return within, os.Mkdir(within, 0o700)
}

// writeMarker appends where the previous content goes. A line before it is of a restore that was interrupted.
func writeMarker(path, kept string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, kept+"\n")
	return errors.Join(err, file.Sync(), file.Close(), syncFolder(filepath.Dir(path)))
}

func removeMarker(marker string) error {
	return errors.Join(ignoreMissing(os.Remove(marker)), syncFolder(filepath.Dir(marker)))
}

// checkRestore runs before PocketBase's own restore, which does not check the backup, and refuses an invalid one. The
// marker keeps other processes out during the restore. Each of them, and the next start after a crash, would empty
// PocketBase's temporary directory, which has both the previous and the new content.
func checkRestore(e *core.BackupEvent) (err error) {
	dataDir := e.App.DataDir()
	done, err := lockfile.Own(filepath.Join(dataDir, backupLockName))
	if errors.Is(err, lockfile.ErrHeld) {
		return ErrBusy
	}
	if err != nil {
		return err
	}
	defer done()
	if err := check(e); err != nil {
		return fmt.Errorf("checking the backup %q: %w", e.Name, err)
	}
	marker := filepath.Join(dataDir, markerName)
	if err := writeMarker(marker, filepath.Join(dataDir, core.LocalTempDirName)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeMarker(marker)) }() // after a failure; otherwise the process was replaced
	stay, err := preservedNames(dataDir)
	if err != nil {
		return err
	}
	resolved, err := resolve(dataDir)
	if err != nil {
		return err
	}
	if mount := newMover().below(resolved, stay); mount != "" { // PocketBase could not rename it
		return fmt.Errorf("a file system is mounted at %s in the data directory: "+
			"stop the server and run contactbase restore", mount)
	}
	e.Exclude = append(e.Exclude, stay...)
	return e.Next()
}

// check extracts a backup of the app into a temporary directory.
func check(e *core.BackupEvent) (err error) {
	staging := filepath.Join(e.App.DataDir(), stagingName)
	archive := staging + ".zip"
	defer func() { err = errors.Join(err, os.RemoveAll(staging), os.RemoveAll(archive)) }()
	if err := download(e, archive); err != nil {
		return err
	}
	return stage(archive, staging)
}

// download copies a backup of the app into a file.
func download(e *core.BackupEvent, path string) (err error) {
	backups, err := e.App.NewBackupsFilesystem()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backups.Close()) }()
	backups.SetContext(e.Context)
	from, err := backups.GetReader(e.Name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
