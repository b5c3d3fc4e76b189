package cli

import (
	"fmt"

	"contactbase/internal/backup"
	"contactbase/internal/sqlite"
)

// explainStorageError explains SQLite's numeric errors about the data directory. It returns other errors unchanged.
func explainStorageError(err error, dataDir string) error {
	if !sqlite.IsUnavailable(err) {
		return err
	}
	if cause := backup.Probe(dataDir); cause != nil {
		return fmt.Errorf("the data directory %s cannot be written: %w", dataDir, cause)
	}
	return fmt.Errorf("the database in %s cannot be used; run contactbase doctor to find out why: %w", dataDir, err)
}
