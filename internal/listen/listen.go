// Package listen delivers an installation's events to an address that the installation cannot reach: it reads the
// feed and posts each event as a webhook would.
package listen

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/recordid"
	"contactbase/internal/secret"
)

// Secret returns the secret that signs the events of this API key. It never changes, so that the verifying program
// can keep it in its settings.
func Secret(key string) string {
	return secret.Derive(key, "contactbase listen")
}

// Run is a run of the command listen.
type Run struct {
	Sender  *delivery.Sender
	URL     string     // of the installation
	Key     string     // its API key
	Forward string     // the address to post to
	From    string     // where to start: now, oldest, or an event's ID; "" for where the last run ended, else now
	File    CursorFile // where the last run ended
	Out     io.Writer

	feed     *Feed
	endpoint *delivery.Endpoint
	trouble  string // the last reported problem with the feed, "" for none
}

// Listen posts each event once, whatever the response, and prints it, until ctx ends. It returns an error if the feed
// cannot be read with this key, or if the cursor cannot be stored.
func (r *Run) Listen(ctx context.Context) error {
	r.feed = &Feed{URL: r.URL, Key: r.Key, Client: &http.Client{}}
	cursor, err := r.start(ctx)
	if err != nil {
		return fmt.Errorf("reading the events of %s: %w", r.URL, err)
	}
	secret := Secret(r.Key)
	r.endpoint = &delivery.Endpoint{URL: r.Forward, Secrets: []string{secret}}
	fmt.Fprintf(r.Out, "Posting the events of %s to %s\nSigned with %s   (the same each time)\n\n",
		r.URL, r.Forward, secret)
	for ctx.Err() == nil {
		page, err := r.feed.Next(ctx, cursor, r.failing)
		var refused *Error
		if errors.As(err, &refused) && refused.Code == string(fault.CursorExpired) {
			fmt.Fprintln(r.Out, "Some events since the last run are no longer kept; continuing with the oldest one.")
			cursor = event.Oldest
			continue
		}
		if err == nil {
			cursor, err = page.Cursor, r.forward(ctx, page.Data)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("reading the events of %s: %w", r.URL, err)
		}
	}
	return nil
}

// start returns the cursor after which the run starts.
func (r *Run) start(ctx context.Context) (cursor string, err error) {
	switch r.From {
	case "oldest":
		return event.Oldest, nil
	case "":
		cursor, err = r.File.Read()
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
	return cursor, r.File.Write(cursor)
}

// forward posts events, prints them with the response, and stores the cursor after each.
func (r *Run) forward(ctx context.Context, events []json.RawMessage) error {
	for _, body := range events {
		var posted struct{ ID, Type string }
		if err := json.Unmarshal(body, &posted); err != nil {
			return fmt.Errorf("reading an event: %w", err)
		}
		attempt := r.Sender.Send(ctx, &delivery.Job{
			DeliveryID: recordid.New(time.Now()), Attempt: 1,
			EventID: strings.TrimPrefix(posted.ID, event.IDPrefix), EventType: posted.Type,
			Payload: body, Endpoint: r.endpoint,
		})
		if err := ctx.Err(); err != nil {
			return err // the attempt was interrupted: the next run repeats it
		}
		if err := r.File.Write(posted.ID); err != nil {
			return err
		}
		r.trouble = ""
		answer := cmp.Or(attempt.Error, strconv.Itoa(attempt.Status))
		fmt.Fprintf(r.Out, "%s  %s  %s  %s  %d ms\n", attempt.Started.Format(time.TimeOnly),
			posted.Type, posted.ID, answer, attempt.Duration.Milliseconds())
	}
	return nil
}

// failing reports once why the feed cannot be read.
func (r *Run) failing(err error) {
	if text := err.Error(); text != r.trouble {
		fmt.Fprintf(r.Out, "%s  cannot read events, retrying: %s\n", time.Now().Format(time.TimeOnly), text)
		r.trouble = text
	}
}
