package cmd

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/listen"
)

// keyEnv is the environment variable with the API key. As an argument, other users of the machine could see it.
const keyEnv = "CONTACTBASE_KEY"

// NewListenCommand returns the command that posts the events of an installation to a local address.
func NewListenCommand(sender *delivery.Sender) *cobra.Command {
	run := &listen.Run{Sender: sender}
	command := &cobra.Command{
		Use:   "listen",
		Short: "Forward the events of an installation to a local address, signed like webhooks",
		Example: "  contactbase listen --url https://crm.example.com --forward http://localhost:3000/hook\n\n" +
			"  Set the key in the environment variable " + keyEnv + ", or with --key. Each event is posted once, with a\n" +
			"  delivery's headers, and shown with the response. The next run continues where this one ended.",
		Args:        exactArgs,
		Annotations: map[string]string{Offline: "true"},
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			run.Out = command.OutOrStdout()
			if err := checkListen(run); err != nil {
				return err
			}
			var err error
			if run.File, err = listen.FindCursorFile(run.URL, run.Key, run.Forward); err != nil {
				return err
			}
			return run.Listen(ctx)
		},
	}
	flags := command.Flags()
	flags.StringVar(&run.URL, "url", "http://127.0.0.1:8090", "the URL of the installation")
	flags.StringVar(&run.Key, "key", "",
		"the API key, with the permission contacts:read (default the environment variable "+keyEnv+")")
	flags.StringVar(&run.Forward, "forward", "", "the URL to post to, such as http://localhost:3000/hook")
	flags.StringVar(&run.From, "from", "",
		"where to start: now, oldest, or an event's ID (default where the last run ended, else now)")
	return command
}

// checkListen checks the flags, and completes them.
func checkListen(run *listen.Run) error {
	run.URL = strings.TrimSuffix(strings.TrimRight(run.URL, "/"), "/api/ext/v1")
	run.Key = cmp.Or(run.Key, os.Getenv(keyEnv))
	switch {
	case !isWebAddress(run.URL):
		return fmt.Errorf("--url must be the URL of an installation, such as https://crm.example.com")
	case run.Forward == "":
		return fmt.Errorf("--forward is required: the URL to post to, such as http://localhost:3000/hook")
	case !isWebAddress(run.Forward):
		return fmt.Errorf("--forward must be a URL such as http://localhost:3000/hook")
	case run.Key == "":
		return fmt.Errorf("the API key is missing: set it in the environment variable %s, or with --key", keyEnv)
	case !credential.WellFormed(credential.KeyPrefix, run.Key):
		return fmt.Errorf("the API key is mistyped: it must begin with %s and have 40 characters", credential.KeyPrefix)
	}
	if _, wrong := event.ParseCursor(run.From); wrong != nil && run.From != "now" && run.From != "oldest" {
		return fmt.Errorf("--from must be now, oldest, or an event's ID")
	}
	return nil
}

func isWebAddress(s string) bool {
	address, err := url.Parse(s)
	return err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != ""
}
