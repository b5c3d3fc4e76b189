package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/listen"
)

// keyEnv is the environment variable with the API key. As an argument, other users of the machine could see it.
const keyEnv = "CONTACTBASE_KEY"

// NewListenCommand returns the command that posts the events of an installation to a local address.
func NewListenCommand(sender *delivery.Sender) *cobra.Command {
	l := &listening{sender: sender}
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
			l.out = command.OutOrStdout()
			return l.run(ctx)
		},
	}
	flags := command.Flags()
	flags.StringVar(&l.url, "url", "http://127.0.0.1:8090", "the URL of the installation")
	flags.StringVar(&l.key, "key", "", "the API key, with the permission contacts:read (default the environment variable "+keyEnv+")")
	flags.StringVar(&l.forward, "forward", "", "the URL to post to, such as http://localhost:3000/hook")
	flags.StringVar(&l.from, "from", "", "where to start: now, oldest, or an event's ID (default where the last run ended, else now)")
	return command
}

// listening is a run of the command.
type listening struct {
	sender                  *delivery.Sender
	url, key, forward, from string
	out                     io.Writer

	feed    *listen.Feed
	file    listen.CursorFile
	trouble string // the last reported problem with the feed, "" for none
}

func (l *listening) run(ctx context.Context) error {
	if err := l.check(); err != nil {
		return err
	}
	l.feed = &listen.Feed{URL: l.url, Key: l.key, Client: &http.Client{}}
	var err error
	if l.file, err = listen.FindCursorFile(l.url, l.key, l.forward); err != nil {
		return err
	}
	cursor, err := l.start(ctx)
	if err != nil {
		return fmt.Errorf("reading the events of %s: %w", l.url, err)
	}
	secret := listen.Secret(l.key)
	fmt.Fprintf(l.out, "Posting the events of %s to %s\nSigned with %s   (the same each time)\n\n", l.url, l.forward, secret)
	listener := &listen.Listener{
		Feed: l.feed, Sender: l.sender, Cursor: cursor, Forwarded: l.forwarded, Trouble: l.failing,
		Endpoint: &delivery.Endpoint{URL: l.forward, Secrets: []string{secret}},
	}
	for {
		err := listener.Listen(ctx)
		var refused *listen.Error
		if errors.As(err, &refused) && refused.Code == string(fault.CursorExpired) {
			fmt.Fprintln(l.out, "Some events since the last run are no longer kept; continuing with the oldest one.")
			listener.Cursor = event.Oldest
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the events of %s: %w", l.url, err)
		}
		return nil
	}
}

func (l *listening) check() error {
	l.url = strings.TrimSuffix(strings.TrimRight(l.url, "/"), "/api/ext/v1")
	l.key = cmp.Or(l.key, os.Getenv(keyEnv))
	switch {
	case !isWebAddress(l.url):
		return fmt.Errorf("--url must be the URL of an installation, such as https://crm.example.com")
	case l.forward == "":
		return fmt.Errorf("--forward is required: the URL to post to, such as http://localhost:3000/hook")
	case !isWebAddress(l.forward):
		return fmt.Errorf("--forward must be a URL such as http://localhost:3000/hook")
	case l.key == "":
		return fmt.Errorf("the API key is missing: set it in the environment variable %s, or with --key", keyEnv)
	case !credential.WellFormed(credential.KeyPrefix, l.key):
		return fmt.Errorf("the API key is mistyped: it must begin with %s and have 40 characters", credential.KeyPrefix)
	}
	if _, wrong := event.ParseCursor(l.from); wrong != nil && l.from != "now" && l.from != "oldest" {
		return fmt.Errorf("--from must be now, oldest, or an event's ID")
	}
	return nil
}

func isWebAddress(s string) bool {
	address, err := url.Parse(s)
	return err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != ""
}

// start returns the cursor after which the run starts.
func (l *listening) start(ctx context.Context) (cursor string, err error) {
	switch l.from {
	case "oldest":
		return event.Oldest, nil
	case "":
		cursor, err = l.file.Read()
	case "now":
	default:
		cursor = l.from
	}
	if cursor == "" && err == nil {
		cursor, err = l.feed.Now(ctx)
	}
	if err != nil {
		return "", err
	}
	return cursor, l.file.Write(cursor)
}

// forwarded saves the cursor and prints the event with the response.
func (l *listening) forwarded(f listen.Forwarded) error {
	if err := l.file.Write(f.ID); err != nil {
		return err
	}
	l.trouble = ""
	answer := fmt.Sprint(f.Attempt.Status)
	if f.Attempt.Error != "" {
		answer = f.Attempt.Error
	}
	fmt.Fprintf(l.out, "%s  %s  %s  %s  %d ms\n", f.Attempt.Started.Format(time.TimeOnly), f.Kind, f.ID, answer, f.Attempt.Duration.Milliseconds())
	return nil
}

// failing reports once why the feed cannot be read.
func (l *listening) failing(err error) {
	if text := err.Error(); text != l.trouble {
		fmt.Fprintf(l.out, "%s  cannot read events, retrying: %s\n", time.Now().Format(time.TimeOnly), text)
		l.trouble = text
	}
}
