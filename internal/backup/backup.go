// Package backup makes backups of a data directory that is being served, and restores them.
//
// PocketBase's own backup reads the files of the live databases. On Linux, closing such a file drops the locks that
// the process holds on it. The next process that opens and closes the database then considers itself the last one,
// and deletes the WAL with what the server wrote. Here SQLite writes copies of the databases over connections of the
// app, and nothing else ever opens the live files. The archive has PocketBase's layout, so that each program reads
// the other's backups.
//
// Processes coordinate by locks on separate files in the data directory. Every process that opens the directory holds
// the first lock shared; a restore holds it exclusively. Making a backup holds the second lock exclusively.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/filesystem"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/lockfile"
	"contactbase/internal/order"
)

// Errors that callers distinguish.
var (
	ErrServed = errors.New(
		"the data directory is in use by another process; stop that one first, such as contactbase serve",
	)
	ErrRestoring   = errors.New("the data directory is being restored or upgraded by another process")
	ErrInterrupted = errors.New("restoring a backup into the data directory was interrupted")
	ErrBusy        = errors.New("another backup is being made")
	ErrExists      = errors.New("a backup of this name already exists")
	ErrName        = errors.New(
		"the name of a backup may contain only letters, digits, dots, _ and -, and must not be a path",
	)
	ErrInvalid = errors.New("this is not a valid backup of a data directory")
)

// Files and directories of this package in the data directory. None is part of a backup.
const (
	ownPrefix      = ".contactbase."
	lockName       = ownPrefix + "lock"      // locked by every process that has the directory open
	backupLockName = ownPrefix + "backuping" // locked by the process that makes a backup
	markerName     = ownPrefix + "restoring" // exists from the first to the last move of a restore
	upgradingName  = ownPrefix + "upgrading" // has the path of the backup made before an unfinished upgrade
	workName       = ownPrefix + "backup"    // the copies of the databases for a backup
	stagingName    = ownPrefix + "restore"   // the extracted backup during a restore
)

// The databases of a data directory.
const (
	dataFile      = "data.db"
	auxiliaryFile = "auxiliary.db"
)

// hookID identifies the handlers of this package.
const hookID = "contactbaseBackup"

// Bind makes SQLite write all backups of the app, from the dashboard, the schedule, the API and Create. It also
// checks a backup before PocketBase restores it, and holds a shared lock on the data directory while the app is open.
// It may be called again.
func Bind(app core.App) {
	app.OnBackupCreate().Bind(&hook.Handler[*core.BackupEvent]{
		Id:       hookID,
		Func:     create, // instead of PocketBase's own, which would come next
		Priority: order.BackupReplaced,
	})
	app.OnBackupRestore().Bind(&hook.Handler[*core.BackupEvent]{
		Id:       hookID,
		Func:     checkRestore,
		Priority: order.BackupReplaced,
	})
	app.OnBootstrap().Bind(&hook.Handler[*core.BootstrapEvent]{
		Id:       hookID,
		Func:     shareLock,
		Priority: order.DirectoryLocked,
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id:       hookID,
		Func:     releaseLock,
		Priority: order.LocksReleased,
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id:       hookID + "Restart",
		Func:     endRestore,
		Priority: order.RestoreEnds,
	})
}

// storeKey is the key of the func() in the app's store that releases its shared lock.
const storeKey = "contactbaseDataFolder"

// shareLock locks the data directory before the app opens the databases.
func shareLock(e *core.BootstrapEvent) error {
	if !e.App.Store().Has(storeKey) { // the app was open before
		release, err := Lock(e.App.DataDir())
		if err != nil {
			return err
		}
		e.App.Store().Set(storeKey, release)
	}
	if err := CheckFolder(e.App.DataDir()); err != nil {
		return err
	}
	private := makePrivate(e.App.DataDir())
	if err := e.Next(); err != nil {
		return err
	}
	if private != nil {
		e.App.Logger().Warn("other users may read the data directory", "error", private)
	}
	return nil
}

// endRestore removes the marker of a restore. PocketBase restarts at the end of one, when all files are in place.
func endRestore(e *core.TerminateEvent) error {
	if e.IsRestart {
		if err := removeMarker(filepath.Join(e.App.DataDir(), markerName)); err != nil {
			return err
		}
	}
	return e.Next()
}

// releaseLock releases that lock after the databases were closed. A restart either replaces the process, which ends
// its locks, or fails and opens the app again.
func releaseLock(e *core.TerminateEvent) error {
	if err := e.Next(); err != nil || e.IsRestart {
		return err
	}
	if release, ok := e.App.Store().Get(storeKey).(func()); ok {
		e.App.Store().Remove(storeKey)
		release()
	}
	return nil
}

// Create makes a backup and returns its name among the backups of the app. It generates an empty name, and appends a
// missing .zip. The error is ErrName if the name is not valid, and ErrExists if it is taken. Other processes may
// serve the data directory.
func Create(ctx context.Context, app core.App, name string) (string, error) {
	Bind(app)
	name = cmp.Or(name, newName(time.Now()))
	if !strings.HasSuffix(name, extension) {
		name += extension
	}
	if !validName.MatchString(name) {
		return "", fmt.Errorf("%w: %q", ErrName, name)
	}
	if err := checkNew(ctx, app, name); err != nil {
		return "", fmt.Errorf("making the backup %q: %w", name, err)
	}
	if err := app.CreateBackup(ctx, name); err != nil {
		return "", fmt.Errorf("making the backup %q: %w", name, err)
	}
	return name, nil
}

// checkNew returns ErrExists if a backup has the name, as PocketBase's own route does.
func checkNew(ctx context.Context, app core.App, name string) error {
	backups, err := app.NewBackupsFilesystem()
	if err != nil {
		return err
	}
	defer func() { _ = backups.Close() }()
	backups.SetContext(ctx)
	exists, err := backups.Exists(name)
	if err == nil && exists {
		return ErrExists
	}
	return err
}

// extension ends the name of every backup.
const extension = ".zip"

// validName matches what PocketBase accepts, and also capitals and inner dots. A match is not a path and does not
// begin with a dot.
var validName = regexp.MustCompile(`^[A-Za-z0-9_@-][A-Za-z0-9._@-]{0,145}\.zip$`)

// newName contains the time to the microsecond, so that two backups in one second have different names.
func newName(now time.Time) string {
	at := now.UTC()
	return fmt.Sprintf("contactbase_%s_%06d%s", at.Format("20060102150405"), at.Nanosecond()/1000, extension)
}

// create replaces what PocketBase's CreateBackup does after the other handlers.
func create(e *core.BackupEvent) (err error) {
	e.Name = cmp.Or(e.Name, newName(time.Now()))
	dataDir := e.App.DataDir()
	release, err := Lock(dataDir) // the app may have been opened before Bind, and not hold it
	if err != nil {
		return err
	}
	defer release()
	from := source{dataDir, e.App.ConcurrentDB(), e.App.AuxConcurrentDB(), e.Exclude}
	return withArchive(e.Context, from, func(archive string) error { return upload(e, archive) })
}

// withArchive writes the archive of a data directory, calls keep with its path, and deletes it unless
// keep has moved it.
func withArchive(ctx context.Context, from source, keep func(archive string) error) (err error) {
	done, err := lockfile.Own(filepath.Join(from.dir, backupLockName))
	if errors.Is(err, lockfile.ErrHeld) {
		return ErrBusy
	}
	if err != nil {
		return err
	}
	defer done()

	// Not in PocketBase's temporary directory, which every process deletes when it starts.
	work := filepath.Join(from.dir, workName)
	if err := os.RemoveAll(work); err != nil { // left by a crash
		return err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	archive := filepath.Join(work, "archive.zip")
	if err := archiveFolder(ctx, from, work, archive); err != nil {
		return err
	}
	return keep(archive)
}

// upload stores the archive among the backups, on this machine or in a bucket.
func upload(e *core.BackupEvent, archive string) (err error) {
	backups, err := e.App.NewBackupsFilesystem()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backups.Close()) }()
	backups.SetContext(e.Context)
	file, err := filesystem.NewFileFromPath(archive)
	if err != nil {
		return err
	}
	file.OriginalName = e.Name
	file.Name = e.Name
	return backups.UploadFile(file, file.Name)
}

// copyDatabase makes SQLite write a copy of a live database, as it is when the copy begins. Writers do not wait.
func copyDatabase(ctx context.Context, db dbx.Builder, path string) error {
	_, err := db.NewQuery("VACUUM INTO {:path}").Bind(dbx.Params{"path": path}).WithContext(ctx).Execute()
	if err != nil {
		return fmt.Errorf("copying the database into %s: %w", filepath.Base(path), err)
	}
	return nil
}

// excluded reports whether a file of the data directory is not part of a backup. The name is relative to the
// directory, with slashes.
func excluded(name string, exclude []string) bool {
	if strings.HasPrefix(name, programPrefix) { // such as locks, and what the directory is to a replica
		return true
	}
	for _, prefix := range exclude {
		prefix = strings.TrimSuffix(filepath.ToSlash(filepath.Clean(prefix)), "/")
		if name == prefix || strings.HasPrefix(name, prefix+"/") {
			return true
		}
	}
	return false
}

// isDatabase reports whether a file is a database at the top of the data directory, or belongs to one.
func isDatabase(name string) bool {
	if strings.Contains(name, "/") {
		return false // an uploaded file
	}
	for _, suffix := range []string{".db", ".db-wal", ".db-shm", ".db-journal"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// ignoreMissing drops the error of a file that was deleted while the folder was walked.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
