package cli

import (
	"fmt"
	"strings"

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
				if sub.Name() == "otp" {
					sub.RunE = sayHowToAllow(sub.RunE)
				}
			}
		}
	}
	noFiles(root)
}

// sayHowToAllow adds what to do to PocketBase's error about one-time passwords that are off.
func sayHowToAllow(create func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		err := create(command, args)
		if err != nil && strings.HasPrefix(err.Error(), "OTP auth is not enabled") {
			return fmt.Errorf("%w; turn on OTP in the dashboard, under the collection's options, "+
				"or set a password with: contactbase superuser upsert", err)
		}
		return err
	}
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
