package backup

import (
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

	"contactbase/internal/sqlite"
)

// Errors of a data directory that must not be opened.
var (
	ErrNewer = errors.New("was written by a newer version of this program")
	ErrEmpty = errors.New("has lost its database")
)

// CheckFolder refuses a data directory that PocketBase would misinterpret: one that a newer version has written, or
// one whose database is missing.
func CheckFolder(dataDir string) error {
	database := filepath.Join(dataDir, dataFile)
	info, err := os.Stat(database)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unusable(dataDir, err)
	}
	if err == nil && info.Size() > 0 {
		err := checkVersion(database)
		if errors.Is(err, ErrNewer) {
			return fmt.Errorf("the data directory %s %w", dataDir, err)
		}
		return err
	}
	trace, err := findTrace(dataDir, err == nil)
	if err != nil {
		return unusable(dataDir, err)
	}
	if trace != "" {
		return fmt.Errorf("the data directory %s %w: %s is empty or missing, though %s is not; "+
			"restore a backup, or move the remaining files away to start with an empty directory",
			dataDir, ErrEmpty, dataFile, trace)
	}
	return nil
}

// findTrace returns a name that shows that a directory was in use. Backups alone do not, unless there is an empty
// database beside them: they may have been copied there to be restored.
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

// checkVersion returns ErrNewer if a migration of this program or of PocketBase was applied that this version does
// not have. Migrations of an older PocketBase, of an extension, or of a program that used the directory before, are
// accepted: they are in JavaScript, noted by NoteExtensions, or older than the newest known one.
func checkVersion(database string) error {
	applied, err := appliedMigrations(database)
	if err != nil {
		return err
	}
	known, shipped := knownMigrations()
	if len(shipped) == 0 {
		return nil
	}
	newest := slices.Max(shipped)
	for _, name := range applied {
		later := strings.HasSuffix(name, ".go") && name > newest
		if slices.Contains(known, name) || !later && !IsOwn(name) {
			continue
		}
		if !IsOwn(name) {
			if noted, err := notedMigrations(database); err != nil {
				return err
			} else if slices.Contains(noted, name) {
				continue
			}
		}
		return fmt.Errorf("%w: it has the migration %s; use that version, "+
			"or restore a backup that was made before it", ErrNewer, name)
	}
	return nil
}

// knownMigrations returns the migrations that this program has, and those of them that are not an extension's.
func knownMigrations() (known, shipped []string) {
	for i, list := range []core.MigrationsList{core.SystemMigrations, core.AppMigrations} {
		for _, migration := range list.Items() {
			known = append(known, migration.File)
			if i == 0 || IsOwn(migration.File) {
				shipped = append(shipped, migration.File)
			}
		}
	}
	return known, shipped
}

// IsOwn reports whether a migration belongs to any version of this program.
func IsOwn(name string) bool { return ownMigration.MatchString(name) }

// appliedMigrations lists the migrations that were applied to a database, or nothing if it is not one of PocketBase.
func appliedMigrations(database string) (names []string, err error) {
	db, err := OpenReadOnly(database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	there, err := sqlite.Value[bool](db, "SELECT count(*) FROM sqlite_schema WHERE name = '_migrations'")
	if err != nil || !there {
		return nil, err
	}
	return sqlite.Values[string](db, "SELECT file FROM _migrations ORDER BY file")
}

// OpenReadOnly opens a database read-only, over a single connection. Closing the last connection that may write would
// delete the WAL of a process that was killed.
func OpenReadOnly(database string) (*sql.DB, error) {
	name := url.URL{
		Scheme: "file", OmitHost: true, Path: filepath.ToSlash(database),
		RawQuery: "mode=ro&_pragma=busy_timeout(10000)",
	}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// probeSize is roughly what SQLite needs at least to open a database, in bytes.
const probeSize = 1 << 20

// Probe writes to a data directory as SQLite would, and returns the error of the operating system. The databases
// must not be open.
func Probe(dataDir string) error {
	for _, name := range []string{dataFile, auxiliaryFile} {
		file, err := os.OpenFile(filepath.Join(dataDir, name), os.O_RDWR, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, withoutPath(err))
		}
		if err == nil {
			_ = file.Close() // nothing was written
		}
	}
	file, err := os.CreateTemp(dataDir, ownPrefix+"probe")
	if err != nil {
		return withoutPath(err)
	}
	_, err = file.Write(make([]byte, probeSize))
	return errors.Join(withoutPath(err), file.Close(), os.Remove(file.Name()))
}

// withoutPath drops the name of a temporary file, which would not help anyone.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
