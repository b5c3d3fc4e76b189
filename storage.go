package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"contactbase/internal/sqlite"
)

// probeSize is about what SQLite needs at the least to open a database, in bytes.
const probeSize = 1 << 20

// wordStorageError says why the data folder cannot be used, where SQLite has but a number for it. Other errors stay as
// they are.
func wordStorageError(err error, dataDir string) error {
	// PocketBase drops the chain of errors of a migration
	migrating := err != nil && strings.Contains(err.Error(), "failed to apply migration")
	if !migrating && !sqlite.IsUnavailable(err) {
		return err
	}
	if cause := probe(dataDir); cause != nil {
		return fmt.Errorf("the data folder %s cannot be written: %w", dataDir, cause)
	}
	if migrating {
		return err
	}
	return fmt.Errorf("the database in %s cannot be used: %w", dataDir, err)
}

// probe writes to the folder as SQLite would, and returns what the system says about it.
func probe(dataDir string) error {
	for _, name := range []string{"data.db", "auxiliary.db"} {
		file, err := os.OpenFile(filepath.Join(dataDir, name), os.O_RDWR, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, withoutPath(err))
		}
		if err == nil {
			_ = file.Close() // nothing was written
		}
	}
	file, err := os.CreateTemp(dataDir, ".contactbase.probe")
	if err != nil {
		return withoutPath(err)
	}
	_, err = file.Write(make([]byte, probeSize))
	return errors.Join(withoutPath(err), file.Close(), os.Remove(file.Name()))
}

// withoutPath drops a name that tells nobody anything.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
