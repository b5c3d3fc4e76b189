package routes_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/tmaxmax/go-sse"

	"contactbase/internal/credential"
	"contactbase/internal/testkit"
)

// openStream opens a stream, waits until it has begun and returns its events.
func openStream(t *testing.T, client *testkit.Client, query string, header ...string) <-chan sse.Event {
	t.Helper()
	blocks, events := openBlocks(t, client, query, header...), make(chan sse.Event)
	go func() {
		defer close(events)
		for block := range blocks {
			if block.Data != "" {
				events <- block
			}
		}
	}()
	return events
}

// openBlocks is like openStream, with the blocks that are not events, which the library returns without data.
func openBlocks(t *testing.T, client *testkit.Client, query string, header ...string) <-chan sse.Event {
	t.Helper()
	response := requestStream(t, client, query, header...)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream is answered %d %v", response.StatusCode, response.Header)
	}
	events := make(chan sse.Event)
	go func() {
		defer close(events)
		defer response.Body.Close()
		for event, err := range sse.Read(response.Body, nil) {
			if err != nil {
				return
			}
			events <- event
		}
	}()
	return events
}

// requestStream returns the response to a request for a stream, which ends with the test.
func requestStream(t *testing.T, client *testkit.Client, query string, header ...string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, client.Base+eventsPath+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", client.Header.Get("X-API-Key"))
	request.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.HTTP.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// A stream has past and new events, byte for byte, and continues after the client's cursor.
func TestFeedAsAStream(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	ada := client.Do("POST", contactsPath, `{"name":"Ada"}`).Location()
	place := readFeed(t, client, "").Cursor
	oldest, now := openStream(t, client, "?after="), openStream(t, client, "?limit=1&wait=5")
	again := openStream(t, client, "?after=", "Last-Event-ID", place)
	changes := openStream(t, client, "?types=contact.updated")
	client.Do("POST", contactsPath, `{"name":"Zoë <&>"}`)
	client.Do("PATCH", ada, `{"company":"Engines"}`)
	client.Do("POST", contactsPath, `{"name":"Grace"}`)
	all := payloads(t, f)
	for name, tc := range map[string]struct {
		events <-chan sse.Event
		want   []string
	}{
		"from the oldest": {oldest, all}, "from now": {now, all[1:]}, "from the last event": {again, all[1:]}, "of a type": {changes, all[2:3]},
	} {
		for i, want := range tc.want {
			got := <-tc.events
			var body struct{ ID, Type string }
			if err := json.Unmarshal([]byte(got.Data), &body); err != nil || got.Data != want || got.LastEventID != body.ID || got.Type != body.Type {
				t.Errorf("%s: event %d is %+v, not %s", name, i, got, want)
			}
		}
	}
}

// A client of a stream that reconnects misses nothing. The stream begins with an id, and sends another with a comment
// if a filter skips events. Thus a cursor stays valid even if no event matched for longer than events are kept.
func TestStreamSendsIDsOfSkippedEvents(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	ada := client.Do("POST", contactsPath, `{"name":"Ada"}`).Location()
	oldest, end := readFeed(t, client, "?after=&contact=nobody&limit=1"), readFeed(t, client, "").Cursor
	if oldest.Cursor != end {
		t.Fatalf("behind what a filter leaves out is %s, not %s", oldest.Cursor, end)
	}
	changes := openBlocks(t, client, "?types=contact.updated")
	for query, want := range map[string]string{"": end, "?after=" + end: end, "?after=": "evt_000000000000000"} {
		if got := <-openBlocks(t, client, query); got.LastEventID != want || got.Data != "" || got.Type != "" {
			t.Errorf("the stream of %q begins with %+v, not with %s alone", query, got, want)
		}
	}
	if got := <-changes; got.LastEventID != end || got.Data != "" {
		t.Errorf("the stream of changes begins with %+v, not with %s alone", got, end)
	}
	client.Do("POST", contactsPath, `{"name":"Grace"}`)
	passed := readFeed(t, client, "").Cursor
	if got := <-changes; got.LastEventID != passed || got.Data != "" {
		t.Fatalf("after an event that is not wanted there is %+v, not %s alone", got, passed)
	}
	testkit.Execute(t, f.App, "DELETE FROM events WHERE tenant = {:tenant}", dbx.Params{"tenant": f.tenant})
	if got := client.Do("GET", eventsPath+"?after="+end, ""); got.Status != http.StatusGone {
		t.Errorf("a place in front of what is gone gives %d", got.Status)
	}
	client.Do("PATCH", ada, `{"company":"Engines"}`)
	again := openStream(t, client, "?types=contact.updated", "Last-Event-ID", passed)
	for name, events := range map[string]<-chan sse.Event{"the stream": changes, "who comes again": again} {
		if got := <-events; got.Type != "contact.updated" {
			t.Errorf("%s has %+v", name, got)
		}
	}
}

// A stream is for clients that accept one, however they spell it, and not for those that refuse it.
func TestAcceptOfStreams(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	for accept, want := range map[string]string{
		"TEXT/EVENT-STREAM": "text/event-stream", "text/event-stream;q=0": "application/json", "text/event-stream;q=0.5, application/json": "application/json",
	} {
		if got := client.Do("HEAD", eventsPath, "", "Accept", accept); got.Status != http.StatusOK || got.Header.Get("Content-Type") != want {
			t.Errorf("%s is answered %d %s", accept, got.Status, got.Header.Get("Content-Type"))
		}
	}
}

// A stream over HTTP/2 shares its connection with other requests, and does not close it.
func TestStreamOverHTTP2(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	base, http2 := testkit.ServeHTTP2(t, app)
	tenant := testkit.Tenant(t, app, "Acme")
	key := testkit.Record(t, app, "api_keys", map[string]any{"tenant": tenant, "name": "own"})
	client := testkit.NewClient(t, base, credential.Minted(key))
	client.HTTP = http2
	events := openStream(t, client, "")
	for _, name := range []string{"Ada", "Grace"} {
		if got := client.Do("POST", contactsPath, `{"name":"`+name+`"}`); got.Status != http.StatusCreated {
			t.Fatalf("creating gives %d", got.Status)
		}
		if event := <-events; !strings.Contains(event.Data, name) {
			t.Errorf("the event is %+v", event)
		}
	}
	stored, err := app.FindRecordById("api_keys", key.Id)
	if err != nil {
		t.Fatal(err)
	}
	stored.Set("revoked", time.Now())
	if err := app.Save(stored); err != nil {
		t.Fatal(err)
	}
	for event := range events {
		t.Errorf("there is an event: %+v", event)
	}
	if got := client.Do("GET", contactsPath, ""); got.Status != http.StatusUnauthorized {
		t.Errorf("the connection answers %d", got.Status)
	}
}

// Line breaks in the body of an event created by a superuser do not end the event.
func TestStreamKeepsLines(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.Execute(t, f.App, "INSERT INTO events (id, tenant, type, contact, payload, created) VALUES ('byhand000000000', {:tenant}, 'contact.created', 'c', {:payload}, '')",
		dbx.Params{"tenant": f.tenant, "payload": "{\n\"id\": 1\n}"})
	if got := <-openStream(t, client, "?after="); got.Data != "{\n\"id\": 1\n}" {
		t.Errorf("it is %q", got.Data)
	}
}
