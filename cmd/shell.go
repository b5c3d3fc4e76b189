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

// restoreName is the name of the command whose argument is a file.
const restoreName = "restore"

// AddShell adds the commands that teach shells and man about all the others, which have to be there.
func AddShell(root *cobra.Command) {
	root.AddCommand(manCommand(root))
	root.CompletionOptions = cobra.CompletionOptions{}
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		switch command.Name() {
		case "completion":
			command.Short = "Print a script by which a shell completes the commands"
			command.Annotations = map[string]string{offline: "true"}
			for _, shell := range command.Commands() {
				shell.Annotations = map[string]string{offline: "true"}
				shell.Example = "  contactbase completion " + shell.Name()
			}
		case "superuser": // PocketBase does not know what the program is called
			for _, sub := range command.Commands() {
				sub.Example = "  contactbase " + sub.Example
			}
		}
	}
	noFiles(root)
}

// noFiles has shells offer no files where an argument is none.
func noFiles(command *cobra.Command) {
	if command.ValidArgsFunction == nil && command.Name() != restoreName {
		command.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range command.Commands() {
		noFiles(sub)
	}
}

// choices has shells offer the values that a flag takes.
func choices(command *cobra.Command, flag string, values []string) {
	err := command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("cmd: " + err.Error()) // unreachable: the flag is there, and has its values once
	}
}

// IsCompletion reports whether a shell asks what could follow.
func IsCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// manCommand returns the command by which packages are given their manual.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:         "man FOLDER",
		Short:       "Write a manual page of each command into a directory",
		Example:     "  contactbase man /usr/local/share/man/man1",
		Hidden:      true,
		Args:        exactArgs,
		Annotations: map[string]string{offline: "true"},
		RunE: func(_ *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true
			root.PersistentFlags().Lookup("dir").DefValue = "pb_data" // wherever this was built
			if err := writeManual(root, args[0]); err != nil {
				return fmt.Errorf("writing the manual: %w", err)
			}
			return nil
		},
	}
}

// writeManual writes pages that everybody may read, unlike what the program writes otherwise.
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
