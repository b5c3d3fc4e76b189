package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// probeSize is about what SQLite needs at the least to open a database, in bytes.
const probeSize = 1 << 20

// Probe writes to a data folder as SQLite would, and returns what the system says about it. The databases must not be open.
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

// withoutPath drops a name that tells nobody anything.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
