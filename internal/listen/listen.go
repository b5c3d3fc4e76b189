// Package listen brings the events of an installation to an address that the installation cannot reach: it follows the feed and
// posts each event as a webhook would.
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

// Secret returns what the events are signed with that the key reads. It is the same each time, so that it can stay in the settings
// of the program that verifies them.
func Secret(key string) string {
	return secret.Derive(key, "contactbase listen")
}

// Listener forwards events.
type Listener struct {
	Feed     *Feed
	Endpoint *delivery.Endpoint // where the events go
	Sender   *delivery.Sender
	Place    string // behind which it goes on; event.Oldest for all that are kept

	Forwarded func(Forwarded) error // told of each event behind its attempt
	Trouble   func(error)           // told why the feed cannot be read, which is then tried again
}

// Forwarded is an event that was posted.
type Forwarded struct {
	ID      string
	Kind    string
	Attempt *delivery.Attempt // what the address has answered
}

// Listen forwards events until ctx ends. Each is posted once, regardless of the answer. The error tells that the feed cannot
// be read with this key, or where nobody was told.
func (l *Listener) Listen(ctx context.Context) error {
	err := l.listen(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	return err
}

func (l *Listener) listen(ctx context.Context) error {
	for {
		page, err := l.Feed.Next(ctx, l.Place, l.Trouble)
		if err != nil {
			return err
		}
		for _, body := range page.Data {
			if err := l.forward(ctx, body); err != nil {
				return err
			}
		}
		l.Place = page.Cursor
	}
}

func (l *Listener) forward(ctx context.Context, body json.RawMessage) error {
	var told struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return fmt.Errorf("reading an event: %w", err)
	}
	attempt := l.Sender.Send(ctx, &delivery.Job{
		DeliveryID: recordid.New(time.Now()), Attempt: 1, EventID: strings.TrimPrefix(told.ID, event.IDPrefix), EventType: told.Type,
		Payload: body, Endpoint: l.Endpoint,
	})
	if err := ctx.Err(); err != nil {
		return err // the attempt was cut off: the next run makes it again
	}
	l.Place = told.ID
	return l.Forwarded(Forwarded{told.ID, told.Type, attempt})
}
