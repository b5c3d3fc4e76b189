package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// probeSize is roughly what SQLite needs at least to open a database, in bytes.
const probeSize = 1 << 20

// Probe writes to a data directory as SQLite would, and returns the error of the operating system. The databases must not be open.
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
