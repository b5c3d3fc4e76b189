package cmd

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contactbase/internal/settings"
)

// settingsUse is the annotation that names the settings that a command has as flags, beside those of all commands.
const settingsUse = "settings"

// AddSettings adds to each command the flags of the settings that it uses. They are flags of serve, whose values they share.
func AddSettings(command *cobra.Command, serve *pflag.FlagSet) {
	for _, name := range strings.Fields(command.Annotations[settingsUse]) {
		command.Flags().AddFlag(serve.Lookup(name))
	}
	for _, sub := range command.Commands() {
		AddSettings(sub, serve)
	}
}

// NewConfigCommand returns the command that shows the settings: the flags of all commands and those of serve.
func NewConfigCommand(s *settings.Settings, serve *pflag.FlagSet) *cobra.Command {
	command := &cobra.Command{
		Use:   "config",
		Short: "Show the settings that are in force, and where each comes from",
		Example: "  contactbase config --config contactbase.yaml\n\n" +
			"  A flag counts before the environment variable of its name, such as " + settings.Variable("retentionDays") + " for\n" +
			"  --retentionDays, and that before the file, where its key is retentionDays.",
		Args:        exactArgs,
		Annotations: map[string]string{offline: "true"},
		RunE: func(command *cobra.Command, _ []string) error {
			var rows []row
			for _, flags := range []*pflag.FlagSet{command.InheritedFlags(), serve} {
				flags.VisitAll(func(flag *pflag.Flag) {
					rows = append(rows, row{{"setting", flag.Name}, {"value", settingOf(flag)}, {"source", s.Source(flag)}})
				})
			}
			slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a[0].value.(string), b[0].value.(string)) })
			return printAll(command, rows)
		},
	}
	command.Flags().AddFlagSet(serve)
	command.Flags().Bool("json", false, "print JSON")
	return command
}

// userOf finds what a URL says of its user, which may be a secret.
var userOf = regexp.MustCompile(`://[^/@]*@`)

// settingOf returns the value of a flag as the environment would have it, without who the user of a URL is.
func settingOf(flag *pflag.Flag) string {
	value := flag.Value.String()
	if list, isList := flag.Value.(pflag.SliceValue); isList {
		value = strings.Join(list.GetSlice(), ",")
	}
	return userOf.ReplaceAllString(value, "://[hidden]@")
}
