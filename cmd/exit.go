package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// TrackErrors makes the commands remember their first error, which the returned function returns. PocketBase drops it, so that every
// failing command would exit with 0.
func TrackErrors(root *cobra.Command) func() error {
	var first error
	remember := func(err error) error {
		if first == nil {
			first = err
		}
		return err
	}
	root.SilenceErrors = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return remember(ExplainFlagError(err)) })
	var wrap func(*cobra.Command)
	wrap = func(command *cobra.Command) {
		command.SilenceUsage = true
		if validate := command.Args; validate != nil {
			command.Args = func(c *cobra.Command, args []string) error { return remember(validate(c, args)) }
		}
		if run := command.RunE; run != nil {
			command.RunE = func(c *cobra.Command, args []string) error { return remember(run(c, args)) }
		}
		for _, sub := range command.Commands() {
			wrap(sub)
		}
	}
	wrap(root)
	return func() error { return first }
}

// Check returns an error if the arguments name no command. PocketBase would neither start nor report it.
func Check(root *cobra.Command, args []string) error {
	if IsCompletion(args) {
		return nil
	}
	command, _, err := root.Find(args)
	if err == nil && (command != root || asksForHelp(args)) {
		return nil // cobra adds the help flags later; if added here, PocketBase would open the database for them
	}
	for _, arg := range args { // PocketBase accepts unknown flags here and takes the next argument as their value
		name, isFlag := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && name != "" && root.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil {
			return fmt.Errorf("unknown flag: --%s; see --help", name)
		}
	}
	if err != nil {
		return fmt.Errorf("%w; see --help", err)
	}
	return nil
}
