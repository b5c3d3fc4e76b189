package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// NewManCommand returns the command that writes the manual pages of packages.
func NewManCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:         "man FOLDER",
		Short:       "Write a manual page for each command into a directory",
		Example:     "  contactbase man /usr/local/share/man/man1",
		Hidden:      true,
		Args:        exactArgs,
		Annotations: map[string]string{Offline: "true"},
		RunE: func(_ *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true
			root.PersistentFlags().Lookup("dir").DefValue = "pb_data" // independent of where this was built
			if err := writeManual(root, args[0]); err != nil {
				return fmt.Errorf("writing the manual: %w", err)
			}
			return nil
		},
	}
}

// writeManual writes pages that everybody may read, unlike the program's other files.
func writeManual(root *cobra.Command, folder string) error {
	_, statErr := os.Stat(folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if errors.Is(statErr, fs.ErrNotExist) {
		if err := os.Chmod(folder, 0o755); err != nil {
			return err
		}
	}
	header := &doc.GenManHeader{Section: "1", Source: "contactbase " + root.Version, Manual: "Contactbase"}
	if err := doc.GenManTree(root, header, folder); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(folder, root.Name()+"*.1"))
	for _, page := range pages {
		err = errors.Join(err, os.Chmod(page, 0o644))
	}
	return err
}
