package backup

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// Applied lists the migrations that were applied to a data directory, or nothing if it has no database.
func Applied(dataDir string) ([]string, error) {
	database := filepath.Join(dataDir, dataFile)
	info, err := os.Stat(database)
	if err != nil || info.Size() == 0 {
		return nil, ignoreMissing(err)
	}
	return appliedMigrations(database)
}

// LockExclusively keeps all other processes out of the data directory of an open app, until release. It returns
// ErrServed, and keeps the shared lock, if one of them has the directory open.
func LockExclusively(app core.App) (release func() error, err error) {
	share := func() error {
		shared, err := Lock(app.DataDir())
		if err == nil {
			app.Store().Set(storeKey, shared)
		}
		return err
	}
	if shared, ok := app.Store().Get(storeKey).(func()); ok {
		app.Store().Remove(storeKey)
		shared()
	}
	alone, err := lockExclusively(app.DataDir())
	if err != nil {
		return nil, errors.Join(err, share())
	}
	return func() error {
		alone()
		return share()
	}, nil
}

// BeforeUpgrade makes a backup of a data directory before its schema changes, and returns the path. The directory
// need not be open; the backup is among its backups on this machine. If an earlier upgrade was interrupted, the path
// is that of the backup made before it, and made is false.
func BeforeUpgrade(ctx context.Context, dataDir string) (path string, made bool, err error) {
	mark := filepath.Join(dataDir, upgradingName)
	earlier, err := os.ReadFile(mark)
	if ignoreMissing(err) != nil {
		return "", false, err
	}
	if path = strings.TrimSpace(string(earlier)); path != "" {
		if _, err := os.Stat(path); err == nil {
			return path, false, nil
		}
	}
	backups := filepath.Join(dataDir, core.LocalBackupsDirName)
	if err := os.MkdirAll(backups, 0o700); err != nil {
		return "", false, err
	}
	path = filepath.Join(backups, newName(time.Now()))
	if err := archiveClosed(ctx, dataDir, path); err != nil {
		return "", false, err
	}
	return path, true, os.WriteFile(mark, []byte(path+"\n"), 0o600)
}

// Upgraded notes that the upgrade after BeforeUpgrade is complete.
func Upgraded(dataDir string) error {
	return ignoreMissing(os.Remove(filepath.Join(dataDir, upgradingName)))
}

// archiveClosed writes a backup of a data directory that no app has open, with its own connections.
func archiveClosed(ctx context.Context, dataDir, path string) (err error) {
	var databases []*sql.DB
	defer func() {
		for _, db := range databases {
			err = errors.Join(err, db.Close())
		}
	}()
	for _, name := range []string{dataFile, auxiliaryFile} {
		db, err := OpenReadOnly(filepath.Join(dataDir, name))
		if err != nil {
			return err
		}
		databases = append(databases, db)
	}
	from := source{
		dir: dataDir, data: dbx.NewFromDB(databases[0], "sqlite"), auxiliary: dbx.NewFromDB(databases[1], "sqlite"),
		exclude: []string{core.LocalBackupsDirName, core.LocalTempDirName, core.LocalAutocertCacheDirName, lostAndFound},
	}
	return withArchive(ctx, from, func(archive string) error {
		return errors.Join(syncFile(archive), newMover().move(archive, path), syncFolder(filepath.Dir(path)))
	})
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
