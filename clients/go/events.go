package contactbase

import (
	"context"
	"iter"
	"strings"
	"time"

	"contactbase/clients/go/internal/api"
)

const (
	largestEventPage = 1000
	followWait       = 20 * time.Second // shorter than the timeout of a try
)

// Events are the feed: the events of the key's tenant in the order in which they happened, as webhooks get them. A place
// in it is the ID of an event, or the Cursor of a page. Store the place together with what its event has changed on your
// side, and nothing is missed or seen twice. With Types or Contact, store the Cursor of each page of List instead: the
// cursor advances past events that the filter excludes, so it does not expire. If events after a position are no longer kept,
// an *Error has CodeCursorExpired: read all contacts, and start again.
type Events struct {
	api *api.Client
}

// EventOptions say which events to return. The zero value returns all.
type EventOptions struct {
	Types   []string // such as contact.created
	Contact string   // the ID of one contact
	Limit   int      // events of a page: 100 unless it says otherwise, at most 1,000

	// Wait is how long List waits where there is no event yet: whole seconds, at most 30, and less than the timeout of
	// the HTTP client.
	Wait time.Duration
}

// EventPage is a part of the feed.
type EventPage struct {
	Data    []Event
	HasMore bool
	Cursor  string // the place behind the page, and behind what the options left out
}

// Now returns the place behind all that has happened.
func (e *Events) Now(ctx context.Context, options ...RequestOption) (cursor string, err error) {
	page, err := e.page(ctx, &api.ListEventsParams{}, options)
	return page.Cursor, err
}

// List returns a page of the events behind the place. The empty place is before the oldest event that is kept.
func (e *Events) List(ctx context.Context, after string, query EventOptions, options ...RequestOption) (EventPage, error) {
	return e.page(ctx, query.params(after), options)
}

// After returns the events behind the place, and ends with the last one that there is. An error ends it, too.
func (e *Events) After(ctx context.Context, after string, query EventOptions, options ...RequestOption) iter.Seq2[Event, error] {
	query.Wait = 0
	return e.events(ctx, after, query, options, func(page EventPage) bool { return !page.HasMore })
}

// Follow returns the events behind the place, and waits for the next one when there is none. It ends with an error: that
// of the context, or of an installation that could not be reached for half a minute.
func (e *Events) Follow(ctx context.Context, after string, query EventOptions, options ...RequestOption) iter.Seq2[Event, error] {
	if query.Wait == 0 {
		query.Wait = followWait
	}
	return e.events(ctx, after, query, options, func(EventPage) bool { return false })
}

// events goes through the pages up to the last one.
func (e *Events) events(ctx context.Context, after string, query EventOptions, options []RequestOption, isLast func(EventPage) bool) iter.Seq2[Event, error] {
	if query.Limit == 0 {
		query.Limit = largestEventPage
	}
	return func(yield func(Event, error) bool) {
		for after := after; ; {
			page, err := e.List(ctx, after, query, options...)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, event := range page.Data {
				if !yield(event, nil) {
					return
				}
			}
			if isLast(page) {
				return
			}
			after = page.Cursor
		}
	}
}

func (e *Events) page(ctx context.Context, params *api.ListEventsParams, options []RequestOption) (EventPage, error) {
	answer, _, err := decode[api.EventPage](e.api.ListEvents(ctx, params, edit(options...)))
	if err != nil {
		return EventPage{}, err
	}
	page := EventPage{Data: make([]Event, len(answer.Data)), HasMore: answer.HasMore, Cursor: answer.Cursor}
	for i, body := range answer.Data {
		if page.Data[i], err = ParseEvent(body); err != nil {
			return EventPage{}, err
		}
	}
	return page, nil
}

func (o EventOptions) params(after string) *api.ListEventsParams {
	params := &api.ListEventsParams{After: &after, Types: orNull(strings.Join(o.Types, ",")), Contact: orNull(o.Contact)}
	if o.Limit != 0 {
		params.Limit = &o.Limit
	}
	if o.Wait != 0 {
		seconds := int(o.Wait / time.Second)
		params.Wait = &seconds
	}
	return params
}
