// Package backup makes backups of a data folder that is being served, and restores them.
//
// PocketBase's own backup reads the files of the live databases. On Linux, closing such a file drops the locks that
// the process holds on it; the next process that opens and closes the database then takes itself for the last one and
// deletes the log with what the server wrote. Here SQLite writes copies of the databases, by connections of the app,
// and nothing else ever opens the live files. The layout of the archive is PocketBase's, so that either reads the
// other's.
//
// Processes agree by locks on files of their own in the data folder: whoever opens the folder shares the first with
// the others, restoring needs it alone; making a backup needs the second alone.
package backup

import (
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
)

// Errors that callers may want to tell apart.
var (
	ErrServed      = errors.New("the data folder is in use by another process")
	ErrRestoring   = errors.New("the data folder is being restored or brought up to date by another process")
	ErrInterrupted = errors.New("restoring a backup into the data folder was interrupted")
	ErrBusy        = errors.New("another backup is being made")
	ErrExists      = errors.New("there is a backup of this name already")
	ErrName        = errors.New("a backup's name has only letters, digits, dots, _ and -, and is no path")
	ErrInvalid     = errors.New("this is no sound backup of a data folder")
)

// What this package keeps in the data folder. None of it is part of a backup.
const (
	ownPrefix      = ".contactbase."
	lockName       = ownPrefix + "lock"      // shared by all that have the folder open
	backupLockName = ownPrefix + "backuping" // held by who makes a backup
	markerName     = ownPrefix + "restoring" // there from the first to the last move of a restore
	upgradingName  = ownPrefix + "upgrading" // names the backup from before an upgrade that is not over
	workName       = ownPrefix + "backup"    // the copies that go into a backup
	stagingName    = ownPrefix + "restore"   // the content of a backup that is being restored
)

// The databases of a data folder.
const (
	dataFile      = "data.db"
	auxiliaryFile = "auxiliary.db"
)

// hookID identifies the handlers of this package.
const hookID = "contactbaseBackup"

// last and first are priorities after and before the handlers of everybody else.
const (
	first = -10000
	last  = 10000
)

// Bind makes backups by SQLite instead of by reading the live files, wherever they come from (dashboard, schedule,
// API, Create). It also checks a backup before PocketBase restores it, and has the app share the lock of its data
// folder for as long as it is open. It may be called again.
func Bind(app core.App) {
	app.OnBackupCreate().Bind(&hook.Handler[*core.BackupEvent]{
		Id:       hookID,
		Func:     create, // in the place of PocketBase's own, which would come next
		Priority: last,
	})
	app.OnBackupRestore().Bind(&hook.Handler[*core.BackupEvent]{
		Id:       hookID,
		Func:     checkRestore,
		Priority: last,
	})
	app.OnBootstrap().Bind(&hook.Handler[*core.BootstrapEvent]{
		Id:       hookID,
		Func:     shareLock,
		Priority: first,
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id:       hookID,
		Func:     releaseLock,
		Priority: first,
	})
}

// storeKey is where an app keeps the release of the lock that it shares, a func().
const storeKey = "contactbaseDataFolder"

// shareLock has the app share its data folder before it opens the databases.
func shareLock(e *core.BootstrapEvent) error {
	if !e.App.Store().Has(storeKey) { // opened again
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
		e.App.Logger().Warn("others may read the data folder", "error", private)
	}
	return nil
}

// releaseLock ends that after the databases were closed. A restart either replaces the process, which ends its locks, or
// fails and opens the app again. PocketBase restarts to end a restore: all is in place then.
func releaseLock(e *core.TerminateEvent) error {
	if e.IsRestart {
		if err := removeMarker(filepath.Join(e.App.DataDir(), markerName)); err != nil {
			return err
		}
		return e.Next()
	}
	if err := e.Next(); err != nil {
		return err
	}
	if release, ok := e.App.Store().Get(storeKey).(func()); ok {
		e.App.Store().Remove(storeKey)
		release()
	}
	return nil
}

// Create makes a backup and returns its name in the backups of the app. An empty name makes one up; one without .zip
// gets it. The error is ErrName where the name cannot be taken, and ErrExists where it is. The folder may be served by
// other processes.
func Create(ctx context.Context, app core.App, name string) (string, error) {
	Bind(app)
	if name == "" {
		name = newName(time.Now())
	}
	if !strings.HasSuffix(name, extension) {
		name += extension
	}
	if !soundName.MatchString(name) {
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

// checkNew refuses a name that a backup has already, as PocketBase's own route does.
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

// extension is what the names of backups end with.
const extension = ".zip"

// soundName is what PocketBase takes, with capitals and dots inside. It is no path and begins with no dot.
var soundName = regexp.MustCompile(`^[A-Za-z0-9_@-][A-Za-z0-9._@-]{0,145}\.zip$`)

// newName tells when the backup was made, to the microsecond: two in one second do not share it.
func newName(now time.Time) string {
	at := now.UTC()
	return fmt.Sprintf("contactbase_%s_%06d%s", at.Format("20060102150405"), at.Nanosecond()/1000, extension)
}

// create does what PocketBase's CreateBackup does once the other handlers agreed.
func create(e *core.BackupEvent) (err error) {
	if e.Name == "" {
		e.Name = newName(time.Now())
	}
	dataDir := e.App.DataDir()
	release, err := Lock(dataDir) // again where the app has it: not every app is bound before it is opened
	if err != nil {
		return err
	}
	defer release()
	from := source{dataDir, e.App.ConcurrentDB(), e.App.AuxConcurrentDB(), e.Exclude}
	return withArchive(e.Context, from, func(archive string) error { return upload(e, archive) })
}

// withArchive writes the archive of a data folder and hands it to keep. It is gone afterwards, unless keep has moved it.
func withArchive(ctx context.Context, from source, keep func(archive string) error) (err error) {
	done, err := lockfile.Own(filepath.Join(from.dir, backupLockName))
	if errors.Is(err, lockfile.ErrHeld) {
		return ErrBusy
	}
	if err != nil {
		return err
	}
	defer done()

	// Not in PocketBase's folder for temporary files, which any process that starts removes.
	work := filepath.Join(from.dir, workName)
	if err := os.RemoveAll(work); err != nil { // of one that crashed
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

// upload puts the archive into the backups, which may be on this machine or in a bucket.
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

// copyDatabase has SQLite write a copy of a live database: of what was committed when it begins. Writers go on
// meanwhile.
func copyDatabase(ctx context.Context, db dbx.Builder, path string) error {
	_, err := db.NewQuery("VACUUM INTO {:path}").Bind(dbx.Params{"path": path}).WithContext(ctx).Execute()
	if err != nil {
		return fmt.Errorf("copying the database into %s: %w", filepath.Base(path), err)
	}
	return nil
}

// excluded tells whether a file of the data folder is no part of a backup. name is relative to the folder, with
// slashes.
func excluded(name string, exclude []string) bool {
	if strings.HasPrefix(name, ownPrefix) || strings.HasPrefix(name, ".contactbase") && strings.HasSuffix(name, ".lock") { // such as the engine's
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

// isDatabase tells whether a file is a database at the top of the data folder, or belongs to one.
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
