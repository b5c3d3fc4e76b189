package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/fault"
)

// Run is a run of the command listen.
type Run struct {
	Sender  *delivery.Sender
	URL     string // of the installation
	Key     string // its API key
	Forward string // the address to post to
	From    string // where to start: now, oldest, or an event's ID; "" for where the last run ended, else now
	Out     io.Writer

	feed    *Feed
	file    CursorFile
	trouble string // the last reported problem with the feed, "" for none
}

// Listen posts the events and prints them, until ctx ends.
func (r *Run) Listen(ctx context.Context) error {
	r.feed = &Feed{URL: r.URL, Key: r.Key, Client: &http.Client{}}
	var err error
	if r.file, err = FindCursorFile(r.URL, r.Key, r.Forward); err != nil {
		return err
	}
	cursor, err := r.start(ctx)
	if err != nil {
		return fmt.Errorf("reading the events of %s: %w", r.URL, err)
	}
	secret := Secret(r.Key)
	fmt.Fprintf(r.Out, "Posting the events of %s to %s\nSigned with %s   (the same each time)\n\n", r.URL, r.Forward, secret)
	listener := &Listener{
		Feed: r.feed, Sender: r.Sender, Cursor: cursor, Forwarded: r.forwarded, Trouble: r.failing,
		Endpoint: &delivery.Endpoint{URL: r.Forward, Secrets: []string{secret}},
	}
	for {
		err := listener.Listen(ctx)
		var refused *Error
		if errors.As(err, &refused) && refused.Code == string(fault.CursorExpired) {
			fmt.Fprintln(r.Out, "Some events since the last run are no longer kept; continuing with the oldest one.")
			listener.Cursor = event.Oldest
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the events of %s: %w", r.URL, err)
		}
		return nil
	}
}

// start returns the cursor after which the run starts.
func (r *Run) start(ctx context.Context) (cursor string, err error) {
	switch r.From {
	case "oldest":
		return event.Oldest, nil
	case "":
		cursor, err = r.file.Read()
	case "now":
	default:
		cursor = r.From
	}
	if cursor == "" && err == nil {
		cursor, err = r.feed.Now(ctx)
	}
	if err != nil {
		return "", err
	}
	return cursor, r.file.Write(cursor)
}

// forwarded saves the cursor and prints the event with the response.
func (r *Run) forwarded(f Forwarded) error {
	if err := r.file.Write(f.ID); err != nil {
		return err
	}
	r.trouble = ""
	answer := fmt.Sprint(f.Attempt.Status)
	if f.Attempt.Error != "" {
		answer = f.Attempt.Error
	}
	fmt.Fprintf(r.Out, "%s  %s  %s  %s  %d ms\n", f.Attempt.Started.Format(time.TimeOnly), f.Kind, f.ID, answer, f.Attempt.Duration.Milliseconds())
	return nil
}

// failing reports once why the feed cannot be read.
func (r *Run) failing(err error) {
	if text := err.Error(); text != r.trouble {
		fmt.Fprintf(r.Out, "%s  cannot read events, retrying: %s\n", time.Now().Format(time.TimeOnly), text)
		r.trouble = text
	}
}
