package cmd

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// writeFile writes a file that only its owner can read. The file appears under its name once it is complete and on disk; until then
// an existing file stays. A symbolic link such as /dev/stdout is followed, not replaced. Devices and pipes are written to directly.
func writeFile(name string, write func(to io.Writer) error) error {
	if there, err := os.Stat(name); err == nil {
		if !there.Mode().IsRegular() {
			return writeThrough(name, write)
		}
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	if err = errors.Join(write(file), file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

func writeThrough(name string, write func(to io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
