package contactbase_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	contactbase "contactbase/clients/go"
)

func eventPage(cursor string, hasMore bool, contacts ...string) func() (*http.Response, error) {
	events := make([]string, len(contacts))
	for i, id := range contacts {
		events[i] = eventJSON("contact.deleted", `"data":{"id":"`+id+`"},"erased":true`)
	}
	more := map[bool]string{true: "true", false: "false"}[hasMore]
	return answer(http.StatusOK, `{"data":[`+strings.Join(events, ",")+`],"hasMore":`+more+`,"cursor":"`+cursor+`"}`)
}

// collect returns the contacts that the events are about, up to an error.
func collect(events func(yield func(contactbase.Event, error) bool)) (contacts string, err error) {
	for event, err := range events {
		if err != nil {
			return contacts, err
		}
		contacts += event.(contactbase.ContactDeleted).Contact.ID + " "
	}
	return contacts, nil
}

func (n *network) checkQueries(t *testing.T, want ...string) {
	t.Helper()
	for i, request := range n.sent {
		if i < len(want) && request.URL.RequestURI() != "/api/ext/v1/events"+want[i] {
			t.Errorf("request %d is %s, want %s", i, request.URL.RequestURI(), want[i])
		}
	}
	if len(n.sent) != len(want) {
		t.Errorf("%d requests, want %d", len(n.sent), len(want))
	}
}

func TestEventsNow(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, eventPage("evt_9", false))
	if cursor, err := client.Events.Now(t.Context()); cursor != "evt_9" || err != nil {
		t.Errorf("%s, %v", cursor, err)
	}
	n.checkQueries(t, "")
}

func TestEventsList(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, eventPage("evt_9", true, "x1", "x2"))
	page, err := client.Events.List(t.Context(), "evt_1", contactbase.EventOptions{
		Types: []string{"contact.created", "contact.deleted"}, Contact: "x1", Limit: 2, Wait: 5 * time.Second,
	})
	if err != nil || len(page.Data) != 2 || !page.HasMore || page.Cursor != "evt_9" {
		t.Errorf("%+v, %v", page, err)
	}
	n.checkQueries(t, "?after=evt_1&limit=2&types=contact.created%2Ccontact.deleted&contact=x1&wait=5")
}

func TestEventsAfter(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, eventPage("evt_2", true, "x1", "x2"), eventPage("evt_3", true), eventPage("evt_4", false, "x4"))
	contacts, err := collect(client.Events.After(t.Context(), "", contactbase.EventOptions{Wait: time.Second}))
	if contacts != "x1 x2 x4 " || err != nil {
		t.Errorf("%s, %v", contacts, err)
	}
	n.checkQueries(t, "?after=&limit=1000", "?after=evt_2&limit=1000", "?after=evt_3&limit=1000")
}

// Follow continues without new events until its context ends.
func TestEventsFollow(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	last := eventPage("evt_4", false, "x4")
	client, n := newClient(t, eventPage("evt_2", false, "x1"), eventPage("evt_3", false), func() (*http.Response, error) {
		cancel()
		return last()
	}, failure(context.Canceled))
	contacts, err := collect(client.Events.Follow(ctx, "evt_1", contactbase.EventOptions{}))
	if contacts != "x1 x4 " || !errors.Is(err, context.Canceled) {
		t.Errorf("%s, %v", contacts, err)
	}
	n.checkQueries(t, "?after=evt_1&limit=1000&wait=20", "?after=evt_2&limit=1000&wait=20", "?after=evt_3&limit=1000&wait=20", "?after=evt_4&limit=1000&wait=20")
}

func TestEventsExpired(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t, refusal(http.StatusGone, contactbase.CodeCursorExpired))
	_, err := collect(client.Events.After(t.Context(), "evt_1", contactbase.EventOptions{}))
	var refused *contactbase.Error
	if !errors.As(err, &refused) || refused.Code != contactbase.CodeCursorExpired {
		t.Error(err)
	}
}

func TestEventsUntil(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, eventPage("evt_2", true, "x1", "x2"))
	count := 0
	for _, err := range client.Events.After(t.Context(), "evt_1", contactbase.EventOptions{}) {
		if count++; err != nil || count == 2 {
			break
		}
	}
	if count != 2 || len(n.sent) != 1 {
		t.Errorf("%d events of %d requests", count, len(n.sent))
	}
}
