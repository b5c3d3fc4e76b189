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
	followWait       = 20 * time.Second // shorter than the timeout of an attempt
)

// Events is the event feed: the events of the key's tenant in commit order, as webhooks receive them. A cursor is the
// ID of an event, or the Cursor of a page. Store it in the same transaction as your changes, and no event is missed
// or handled twice. With Types or Contact, store the Cursor of each page of List instead: it advances past events
// that the filter excludes, so it does not expire. If later events have been deleted, an *Error has
// CodeCursorExpired: read all contacts, and start again.
type Events struct {
	api *api.Client
}

// EventOptions filter events. The zero value returns all.
type EventOptions struct {
	Types   []string // such as contact.created
	Contact string   // the ID of one contact
	Limit   int      // events per page: 100 by default, at most 1,000

	// Wait is how long List waits for the first event: whole seconds, at most 30, and less than the timeout of
	// the HTTP client.
	Wait time.Duration
}

// EventPage is a page of the feed.
type EventPage struct {
	Data    []Event
	HasMore bool
	Cursor  string // the cursor after the page and the events that the options excluded
}

// Now returns the cursor after the newest event.
func (e *Events) Now(ctx context.Context, options ...RequestOption) (cursor string, err error) {
	page, err := e.page(ctx, &api.ListEventsParams{}, options)
	return page.Cursor, err
}

// List returns a page of events after the cursor. The empty cursor is before the oldest event.
func (e *Events) List(
	ctx context.Context, after string, query EventOptions, options ...RequestOption,
) (EventPage, error) {
	return e.page(ctx, query.params(after), options)
}

// After returns the events after the cursor and ends with the last one, or with an error.
func (e *Events) After(
	ctx context.Context, after string, query EventOptions, options ...RequestOption,
) iter.Seq2[Event, error] {
	query.Wait = 0
	return e.events(ctx, after, query, options, func(page EventPage) bool { return !page.HasMore })
}

// Follow returns the events after the cursor, and waits for new ones. It ends with an error: that of the context, or
// of an installation that could not be reached for 30 seconds.
func (e *Events) Follow(
	ctx context.Context, after string, query EventOptions, options ...RequestOption,
) iter.Seq2[Event, error] {
	if query.Wait == 0 {
		query.Wait = followWait
	}
	return e.events(ctx, after, query, options, func(EventPage) bool { return false })
}

// events goes through the pages up to the last one.
func (e *Events) events(
	ctx context.Context, after string, query EventOptions, options []RequestOption, isLast func(EventPage) bool,
) iter.Seq2[Event, error] {
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
