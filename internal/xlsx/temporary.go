package xlsx

import (
	"errors"
	"io/fs"
	"os"
)

// temporaryPrefix begins the names of temporary files. Backups leave them out.
const temporaryPrefix = ".contactbase.sheet-"

// Temporary is a file that exists until it is closed.
type Temporary struct{ *os.File }

// NewTemporary returns a new file in the folder. It has no name any more, so that nothing is left after a kill; on Windows it loses its name in
// Close.
func NewTemporary(folder string) (*Temporary, error) {
	file, err := os.CreateTemp(folder, temporaryPrefix+"*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name())
	return &Temporary{file}, nil
}

// Close closes and deletes the file.
func (t *Temporary) Close() error {
	err := t.File.Close()
	if removed := os.Remove(t.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
