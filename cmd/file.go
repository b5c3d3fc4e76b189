package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// writeFile writes a file that only its owner can read. The file appears under its name once it is complete and on
// disk; until then an existing file stays. A symbolic link such as /dev/stdout is followed, not replaced. Devices and
// pipes are written to directly.
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

// readSecret reads the secret in the file that a flag names, without the line end.
func readSecret(flag, file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--%s: %w", flag, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

func writeThrough(name string, write func(to io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
