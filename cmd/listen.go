package cmd

import (
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

// keyEnv is the environment variable that holds the API key, which would be seen among the arguments by others on the machine.
const keyEnv = "CONTACTBASE_KEY"

// NewListenCommand returns the command that posts the events of an installation to a local address.
func NewListenCommand(sender *delivery.Sender) *cobra.Command {
	l := &listening{sender: sender}
	command := &cobra.Command{
		Use:   "listen",
		Short: "Post the events of an installation to a local address, signed as webhooks are",
		Example: "  contactbase listen --url https://crm.example.com --forward http://localhost:3000/hook\n\n" +
			"  The key is in the environment variable " + keyEnv + ", or in --key. Each event is posted once, with the\n" +
			"  headers of a delivery, and shown with the answer. The next run goes on where this one has ended.",
		Args:        exactArgs,
		Annotations: map[string]string{offline: "true"},
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			l.out = command.OutOrStdout()
			return l.run(ctx)
		},
	}
	flags := command.Flags()
	flags.StringVar(&l.url, "url", "http://127.0.0.1:8090", "the address of the installation")
	flags.StringVar(&l.key, "key", "", "the API key, with the permission contacts:read (default the environment variable "+keyEnv+")")
	flags.StringVar(&l.forward, "forward", "", "the address to post to, such as http://localhost:3000/hook")
	flags.StringVar(&l.from, "from", "", "where to begin: now, oldest, or the id of an event (default where the last run has ended, else now)")
	return command
}

// listening is a run of the command.
type listening struct {
	sender                  *delivery.Sender
	url, key, forward, from string
	out                     io.Writer

	feed    *listen.Feed
	file    listen.PlaceFile
	trouble string // what was last told to be wrong with the feed, "" for nothing
}

func (l *listening) run(ctx context.Context) error {
	if err := l.check(); err != nil {
		return err
	}
	l.feed = &listen.Feed{URL: l.url, Key: l.key, Client: &http.Client{}}
	var err error
	if l.file, err = listen.FindPlaceFile(l.url, l.key, l.forward); err != nil {
		return err
	}
	place, err := l.begin(ctx)
	if err != nil {
		return fmt.Errorf("reading the events of %s: %w", l.url, err)
	}
	secret := listen.Secret(l.key)
	fmt.Fprintf(l.out, "Posting the events of %s to %s\nSigned with %s   (the same each time)\n\n", l.url, l.forward, secret)
	listener := &listen.Listener{
		Feed: l.feed, Sender: l.sender, Place: place, Forwarded: l.forwarded, Trouble: l.failing,
		Endpoint: &delivery.Endpoint{URL: l.forward, Secrets: []string{secret}},
	}
	for {
		err := listener.Listen(ctx)
		var refused *listen.Error
		if errors.As(err, &refused) && refused.Code == string(fault.CursorExpired) {
			fmt.Fprintln(l.out, "Some events since the last run are no longer kept; the others follow.")
			listener.Place = event.Oldest
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the events of %s: %w", l.url, err)
		}
		return nil
	}
}

// check reads the flags.
func (l *listening) check() error {
	l.url = strings.TrimSuffix(strings.TrimRight(l.url, "/"), "/api/ext/v1")
	if l.key == "" {
		l.key = os.Getenv(keyEnv)
	}
	switch {
	case !isWebAddress(l.url):
		return fmt.Errorf("--url must be the address of an installation, such as https://crm.example.com")
	case l.forward == "":
		return fmt.Errorf("--forward is missing: the address to post to, such as http://localhost:3000/hook")
	case !isWebAddress(l.forward):
		return fmt.Errorf("--forward must be an address such as http://localhost:3000/hook")
	case l.key == "":
		return fmt.Errorf("the API key is missing: put it into the environment variable %s, or into --key", keyEnv)
	case !credential.WellFormed(credential.KeyPrefix, l.key):
		return fmt.Errorf("the API key is mistyped: it begins with %s and has 40 characters", credential.KeyPrefix)
	}
	if _, wrong := event.ParseCursor(l.from); wrong != nil && l.from != "now" && l.from != "oldest" {
		return fmt.Errorf("--from must be now, oldest, or the id of an event")
	}
	return nil
}

func isWebAddress(s string) bool {
	address, err := url.Parse(s)
	return err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != ""
}

// begin returns the place behind which the run begins.
func (l *listening) begin(ctx context.Context) (place string, err error) {
	switch l.from {
	case "oldest":
		return event.Oldest, nil
	case "":
		place, err = l.file.Read()
	case "now":
	default:
		place = l.from
	}
	if place == "" && err == nil {
		place, err = l.feed.Now(ctx)
	}
	if err != nil {
		return "", err
	}
	return place, l.file.Write(place)
}

// forwarded keeps the place, and shows the event with the answer.
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

// failing tells, once, why the feed cannot be read.
func (l *listening) failing(err error) {
	if text := err.Error(); text != l.trouble {
		fmt.Fprintf(l.out, "%s  no events for the moment: %s\n", time.Now().Format(time.TimeOnly), text)
		l.trouble = text
	}
}
