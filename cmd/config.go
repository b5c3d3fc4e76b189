package cmd

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contactbase/internal/settings"
)

// NewConfigCommand returns the command that shows the settings: the flags of all commands and those of serve.
func NewConfigCommand(s *settings.Settings, serve *pflag.FlagSet) *cobra.Command {
	command := alone(&cobra.Command{
		Use:   "config",
		Short: "Show the current settings and where each comes from",
		Example: "  contactbase config --config contactbase.yaml\n\n" +
			"  A flag overrides the environment variable of its name, such as " + settings.Variable("retentionDays") + " for\n" +
			"  --retentionDays, which overrides the file, where its key is retentionDays.",
		Annotations: map[string]string{Offline: "true"},
		RunE: func(command *cobra.Command, _ []string) error {
			var rows []row
			for _, flags := range []*pflag.FlagSet{command.InheritedFlags(), serve} {
				flags.VisitAll(func(flag *pflag.Flag) {
					value := WithoutUser(settings.Text(flag), "[hidden]@")
					rows = append(rows, row{{"setting", flag.Name}, {"value", value}, {"source", s.Source(flag)}})
				})
			}
			slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a[0].value.(string), b[0].value.(string)) })
			return printAll(command, rows)
		},
	})
	command.Flags().AddFlagSet(serve)
	return command
}

// userOf finds the user part of a URL, which may be a secret: all up to the last @ of the host.
var userOf = regexp.MustCompile(`://[^/?#]*@`)

// WithoutUser returns the text with the user part of its URLs replaced by instead, such as "[hidden]@".
func WithoutUser(text, instead string) string { return userOf.ReplaceAllString(text, "://"+instead) }
