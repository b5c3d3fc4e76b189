package cli

import (
	"fmt"

	"contactbase/internal/backup"
	"contactbase/internal/sqlite"
)

// wordStorageError says why the data directory cannot be used, where SQLite has but a number for it. Other errors stay as
// they are.
func wordStorageError(err error, dataDir string) error {
	if !sqlite.IsUnavailable(err) {
		return err
	}
	if cause := backup.Probe(dataDir); cause != nil {
		return fmt.Errorf("the data directory %s cannot be written: %w", dataDir, cause)
	}
	return fmt.Errorf("the database in %s cannot be used: %w", dataDir, err)
}
