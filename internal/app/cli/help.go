package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shortenHelp makes the help of all commands print switches as --json. pflag prints --json[=true|false].
func shortenHelp(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(command *cobra.Command) error {
		command.Flags().VisitAll(func(flag *pflag.Flag) { // here, because cobra adds --help later than all others
			if flag.Value.Type() == "bool" {
				flag.Value = plainSwitch{flag.Value}
			}
		})
		return usage(command)
	})
}

// plainSwitch hides the method IsBoolFlag, by which pflag recognizes what it prints with [=true|false].
type plainSwitch struct{ pflag.Value }
