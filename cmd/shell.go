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

// restoreName is the name of the command that takes a file.
const restoreName = "restore"

// AddShell adds the commands for shell completion and manual pages. Add all other commands first.
func AddShell(root *cobra.Command) {
	root.AddCommand(manCommand(root))
	root.CompletionOptions = cobra.CompletionOptions{}
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		switch command.Name() {
		case "completion":
			command.Short = "Print a completion script for a shell"
			command.Annotations = map[string]string{offline: "true"}
			for _, shell := range command.Commands() {
				shell.Annotations = map[string]string{offline: "true"}
				shell.Example = "  contactbase completion " + shell.Name()
			}
		case "superuser": // PocketBase does not know the program's name
			for _, sub := range command.Commands() {
				sub.Example = "  contactbase " + sub.Example
			}
		}
	}
	noFiles(root)
}

// noFiles prevents shells from completing file names.
func noFiles(command *cobra.Command) {
	if command.ValidArgsFunction == nil && command.Name() != restoreName {
		command.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range command.Commands() {
		noFiles(sub)
	}
}

// choices makes shells complete the values of a flag.
func choices(command *cobra.Command, flag string, values []string) {
	err := command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("cmd: " + err.Error()) // unreachable: the flag exists and gets its values once
	}
}

// IsCompletion reports whether a shell requests completions.
func IsCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// manCommand returns the command that writes the manual pages of packages.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:         "man FOLDER",
		Short:       "Write a manual page for each command into a directory",
		Example:     "  contactbase man /usr/local/share/man/man1",
		Hidden:      true,
		Args:        exactArgs,
		Annotations: map[string]string{offline: "true"},
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
