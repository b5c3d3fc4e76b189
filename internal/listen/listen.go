// Package listen delivers an installation's events to an address that the installation cannot reach: it reads the feed and posts
// each event as a webhook would.
package listen

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/secret"
)

// Secret returns the secret that signs the events of this API key. It never changes, so that the verifying program can keep it in
// its settings.
func Secret(key string) string {
	return secret.Derive(key, "contactbase listen")
}

// Listener forwards events.
type Listener struct {
	Feed     *Feed
	Endpoint *delivery.Endpoint // the receiver of the events
	Sender   *delivery.Sender
	Cursor   string // the cursor to continue after; event.Oldest for the oldest that is kept

	Forwarded func(Forwarded) error // called after each attempt
	Trouble   func(error)           // called with temporary errors of the feed, before a retry
}

// Forwarded is an event that was posted.
type Forwarded struct {
	ID      string
	Kind    string
	Attempt *delivery.Attempt // with the receiver's response
}

// Listen forwards events until ctx ends. It posts each event once, whatever the response. It returns an error if the feed cannot be
// read with this key, or if Forwarded fails.
func (l *Listener) Listen(ctx context.Context) error {
	err := l.listen(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	return err
}

func (l *Listener) listen(ctx context.Context) error {
	for {
		page, err := l.Feed.Next(ctx, l.Cursor, l.Trouble)
		if err != nil {
			return err
		}
		for _, body := range page.Data {
			if err := l.forward(ctx, body); err != nil {
				return err
			}
		}
		l.Cursor = page.Cursor
	}
}

func (l *Listener) forward(ctx context.Context, body json.RawMessage) error {
	var forwarded struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	if err := json.Unmarshal(body, &forwarded); err != nil {
		return fmt.Errorf("reading an event: %w", err)
	}
	attempt := l.Sender.Send(ctx, &delivery.Job{
		DeliveryID: recordid.New(time.Now()), Attempt: 1, EventID: strings.TrimPrefix(forwarded.ID, event.IDPrefix), EventType: forwarded.Type,
		Payload: body, Endpoint: l.Endpoint,
	})
	if err := ctx.Err(); err != nil {
		return err // the attempt was interrupted: the next run repeats it
	}
	l.Cursor = forwarded.ID
	return l.Forwarded(Forwarded{forwarded.ID, forwarded.Type, attempt})
}
