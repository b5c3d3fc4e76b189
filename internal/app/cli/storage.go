package cli

import (
	"fmt"
	"strings"

	"contactbase/internal/backup"
	"contactbase/internal/sqlite"
)

// wordStorageError says why the data directory cannot be used, where SQLite has but a number for it. Other errors stay as
// they are.
func wordStorageError(err error, dataDir string) error {
	// PocketBase drops the chain of errors of a migration
	migrating := err != nil && strings.Contains(err.Error(), "failed to apply migration")
	if !migrating && !sqlite.IsUnavailable(err) {
		return err
	}
	if cause := backup.Probe(dataDir); cause != nil {
		return fmt.Errorf("the data directory %s cannot be written: %w", dataDir, cause)
	}
	if migrating {
		return err
	}
	return fmt.Errorf("the database in %s cannot be used: %w", dataDir, err)
}
