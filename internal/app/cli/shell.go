package cli

import (
	"github.com/spf13/cobra"

	"contactbase/cmd"
)

// addShell adds the commands for shell completion and manual pages. Add all other commands first.
func addShell(root *cobra.Command) {
	root.AddCommand(cmd.NewManCommand(root))
	root.CompletionOptions = cobra.CompletionOptions{}
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		switch command.Name() {
		case "completion":
			command.Short = "Print a completion script for a shell"
			command.Annotations = map[string]string{cmd.Offline: "true"}
			for _, shell := range command.Commands() {
				shell.Annotations = map[string]string{cmd.Offline: "true"}
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

// noFiles prevents shells from completing file names, unless a command says what it takes.
func noFiles(command *cobra.Command) {
	if command.ValidArgsFunction == nil {
		command.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range command.Commands() {
		noFiles(sub)
	}
}
