package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"
)

// Errors of a folder that must not be opened as it is.
var (
	ErrNewer = errors.New("is of a newer version of this program")
	ErrEmpty = errors.New("has lost its database")
)

// CheckFolder refuses a folder that PocketBase would take for another than it is: one that a newer version has worked
// on, and one of which the database is gone.
func CheckFolder(dataDir string) error {
	database := filepath.Join(dataDir, dataFile)
	info, err := os.Stat(database)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unusable(dataDir, err)
	}
	if err == nil && info.Size() > 0 {
		err := checkVersion(database)
		if errors.Is(err, ErrNewer) {
			return fmt.Errorf("the data folder %s %w", dataDir, err)
		}
		return err
	}
	trace, err := findTrace(dataDir, err == nil)
	if err != nil {
		return unusable(dataDir, err)
	}
	if trace != "" {
		return fmt.Errorf("the data folder %s %w: %s is empty or missing, though %s is not; restore a backup, or move what is there away to begin anew",
			dataDir, ErrEmpty, dataFile, trace)
	}
	return nil
}

// findTrace returns what tells that a folder was in use. Backups alone may have been put there to be restored, unless
// there is an empty database beside them.
func findTrace(dataDir string, hasDatabase bool) (string, error) {
	for _, name := range []string{dataFile + "-wal", auxiliaryFile, auxiliaryFile + "-wal"} {
		info, err := os.Stat(filepath.Join(dataDir, name))
		if err == nil && info.Size() > 0 {
			return name, nil
		}
		if ignoreMissing(err) != nil {
			return "", err
		}
	}
	folders := []string{core.LocalStorageDirName}
	if hasDatabase {
		folders = append(folders, core.LocalBackupsDirName)
	}
	for _, name := range folders {
		entries, err := os.ReadDir(filepath.Join(dataDir, name))
		if len(entries) > 0 {
			return name, nil
		}
		if ignoreMissing(err) != nil {
			return "", err
		}
	}
	return "", nil
}

// ownMigration matches the names of this program's migrations, which are numbered within a series.
var ownMigration = regexp.MustCompile(`^176\d0000\d\d_\w+\.go$`)

// checkVersion returns ErrNewer where a database knows a migration of this program's, or of PocketBase's, that this
// version lacks. Others may be there from an older PocketBase, or from a program that used the folder before: they are
// in JavaScript, or come before the newest that is known.
func checkVersion(database string) error {
	applied, err := appliedMigrations(database)
	if err != nil {
		return err
	}
	var known []string
	for _, list := range []core.MigrationsList{core.SystemMigrations, core.AppMigrations} {
		for _, migration := range list.Items() {
			known = append(known, migration.File)
		}
	}
	if len(known) == 0 {
		return nil
	}
	newest := slices.Max(known)
	for _, name := range applied {
		later := strings.HasSuffix(name, ".go") && name > newest
		if slices.Contains(known, name) || !later && !IsOwn(name) {
			continue
		}
		way := "use that version"
		if own := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !IsOwn(name) }); IsOwn(name) && len(own) > 0 {
			way += ", or take its changes back by its command: contactbase downgrade " + slices.Max(own)
		}
		return fmt.Errorf("%w: it has the migration %s; %s, or restore a backup that was made before it", ErrNewer, name, way)
	}
	return nil
}

// IsOwn tells whether a migration is this program's, in any of its versions.
func IsOwn(name string) bool { return ownMigration.MatchString(name) }

// appliedMigrations lists what has been applied to a database, nothing where it is not PocketBase's.
func appliedMigrations(database string) (names []string, err error) {
	db, err := OpenReadOnly(database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var there int
	const table = "SELECT count(*) FROM sqlite_schema WHERE name = '_migrations'"
	if err := db.QueryRowContext(context.Background(), table).Scan(&there); err != nil || there == 0 {
		return nil, err
	}
	rows, err := db.QueryContext(context.Background(), "SELECT file FROM _migrations ORDER BY file")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// OpenReadOnly opens a database for reading alone: closing the last connection that may write ends the log of a process
// that was killed.
func OpenReadOnly(database string) (*sql.DB, error) {
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(database), RawQuery: "mode=ro&_pragma=busy_timeout(10000)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}
