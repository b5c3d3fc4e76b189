// Package tempfile has temporary files that leave nothing behind: uploads, and workbooks that are read or written.
package tempfile

import (
	"errors"
	"io/fs"
	"os"
)

// prefix begins the names of temporary files. Backups leave them out.
const prefix = ".contactbase.sheet-"

// File is a file that exists until it is closed.
type File struct{ *os.File }

// New returns a new file in the folder. It has no name any more, so that nothing is left after a kill; on Windows it
// loses its name in Close.
func New(folder string) (*File, error) {
	file, err := os.CreateTemp(folder, prefix+"*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name())
	return &File{file}, nil
}

// Close closes and deletes the file.
func (f *File) Close() error {
	err := f.File.Close()
	if removed := os.Remove(f.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
