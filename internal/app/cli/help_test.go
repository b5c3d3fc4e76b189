package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestHelpOfFlags(t *testing.T) {
	t.Parallel()
	_, root, serve, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	sub := &cobra.Command{Use: "list", Run: func(*cobra.Command, []string) {}}
	sub.Flags().Bool("all", false, "list all")
	root.PersistentFlags().Bool("json", false, "print JSON")
	root.AddCommand(serve, sub)
	shortenHelp(root)
	for command, want := range map[*cobra.Command][]string{
		sub: {
			"      --all    list all\n", "  -h, --help   help for list\n", "      --json                   print JSON",
		},
		serve: {"--allowPrivateWebhooks ", "--logLevel string ", `debug, info, warn or error (default "info")`},
	} {
		command.InitDefaultHelpFlag() // as cobra does later
		help := command.UsageString()
		for _, text := range want {
			if !strings.Contains(help, text) {
				t.Errorf("%q is missing in the help:\n%s", text, help)
			}
		}
		if strings.Contains(help, "[=") {
			t.Errorf("the help says what a switch may be set to:\n%s", help)
		}
	}
	if err := sub.ParseFlags([]string{"--json"}); err != nil {
		t.Error(err)
	}
	if isJSON, err := sub.Flags().GetBool("json"); !isJSON || err != nil {
		t.Errorf("after the help, --json is %v, %v", isJSON, err)
	}
}
