package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"
)

const (
	feedWriters = 32
	feedReaders = 20 // in each mode
)

// audience is writers of two tenants, and readers of the feed of the first, with a server that is killed and restarted.
type audience struct {
	t    *testing.T
	base atomic.Value // of the server that runs, or ran last
	keys [2]string

	written atomic.Int64
	readers []*feedReader
}

// feedReader follows the feed. It keeps its cursor across restarts of the server.
type feedReader struct {
	*audience
	mode   string
	mu     sync.Mutex
	events []string
}

func (r *feedReader) place() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) == 0 {
		return ""
	}
	return r.events[len(r.events)-1]
}

func (r *feedReader) got(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// call sends a request to the current server, and returns nil without a response.
func (a *audience) call(ctx context.Context, method, path, body, key string, header ...string) *http.Response {
	request, err := http.NewRequestWithContext(ctx, method, a.base.Load().(string)+path, strings.NewReader(body))
	if err != nil {
		a.t.Error(err)
		return nil
	}
	request.Header.Set("X-API-Key", key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	return response
}

// write creates contacts until ctx ends, and waits for the last response.
func (a *audience) write(ctx context.Context, writer int) {
	for i := 0; ctx.Err() == nil; i++ {
		response := a.call(context.WithoutCancel(ctx), http.MethodPost, contactsPath, fmt.Sprintf(`{"name":"Contact %d of %d"}`, i, writer), a.keys[writer%2])
		if response == nil {
			pause(ctx)
			continue
		}
		if response.StatusCode == http.StatusCreated {
			a.written.Add(1)
		}
		response.Body.Close()
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(20 * time.Millisecond)):
	}
}

// pages reads the feed by cursor, and waits for new events.
func (r *feedReader) pages(ctx context.Context) {
	for cursor := ""; ctx.Err() == nil; {
		response := r.call(ctx, http.MethodGet, fmt.Sprintf("/api/ext/v1/events?wait=20&limit=%d&after=%s", 1+rand.IntN(300), cursor), "", r.keys[0])
		if response == nil {
			pause(ctx)
			continue
		}
		var page struct {
			Data   []struct{ ID string }
			Cursor string
		}
		err := json.NewDecoder(response.Body).Decode(&page)
		response.Body.Close()
		if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusServiceUnavailable {
			r.t.Errorf("the feed returns %d", response.StatusCode)
			return
		}
		if response.StatusCode != http.StatusOK || err != nil { // killed within the answer: the next one has all of it
			continue
		}
		for _, event := range page.Data {
			r.got(event.ID)
		}
		cursor = page.Cursor
	}
}

// stream reads the feed as a stream, and reconnects with its cursor after an interruption.
func (r *feedReader) stream(ctx context.Context) {
	for ctx.Err() == nil {
		response := r.call(ctx, http.MethodGet, "/api/ext/v1/events?after=", "", r.keys[0], "Accept", "text/event-stream", "Last-Event-ID", r.place())
		if response == nil {
			pause(ctx)
			continue
		}
		for event, err := range sse.Read(response.Body, nil) {
			if err == nil && event.Data == "" { // an id alone, which this library hands out as an event
				continue
			}
			var body struct{ ID, Type string }
			if err != nil || json.Unmarshal([]byte(event.Data), &body) != nil { // killed within an event
				break
			}
			if body.ID != event.LastEventID || body.Type != event.Type {
				r.t.Errorf("an event is %+v", event)
			}
			r.got(event.LastEventID)
		}
		response.Body.Close()
	}
}

// await waits until the condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(timeout)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !condition() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// Each reader of the feed gets every event once and in the order of commits, while writers of two tenants write and
// the server is killed repeatedly.
func TestFeedThroughKills(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	a := &audience{t: t}
	for n, name := range []string{"Acme", "Other"} {
		tenant := str(t, i.one("tenant", "create", name, "--rateLimit", "1000000000"), "id")
		a.keys[n] = str(t, i.one("key", "create", tenant), "key")
	}
	s := i.serve()
	a.base.Store(s.base)
	writing, stopWriters := context.WithCancel(t.Context())
	defer stopWriters()
	reading, stopReaders := context.WithCancel(t.Context())
	defer stopReaders()
	var writers, readers sync.WaitGroup
	for n := range feedWriters {
		writers.Go(func() { a.write(writing, n) })
	}
	for range feedReaders {
		inPages, asStream := &feedReader{audience: a, mode: "in pages"}, &feedReader{audience: a, mode: "as a stream"}
		a.readers = append(a.readers, inPages, asStream)
		readers.Go(func() { inPages.pages(reading) })
		readers.Go(func() { asStream.stream(reading) })
	}
	for range crashRounds(t, 2, 4) {
		enough := a.written.Load() + int64(300+rand.IntN(1_500))
		await(t, "what is written before a kill", func() bool { return a.written.Load() >= enough })
		s.kill()
		s = i.serve()
		a.base.Store(s.base)
	}
	stopWriters()
	writers.Wait()
	db := openData(t, i.data)
	want := column(t, db, "SELECT 'evt_' || e.id FROM events e JOIN tenants t ON t.id = e.tenant WHERE t.name = 'Acme' ORDER BY e.rowid")
	for _, r := range a.readers {
		await(t, "the last event, "+r.mode, func() bool { return r.place() == want[len(want)-1] })
	}
	stopReaders()
	readers.Wait()
	for _, r := range a.readers {
		if !slices.Equal(r.events, want) {
			t.Errorf("a reader %s has %d events, which are not the %d of the table", r.mode, len(r.events), len(want))
		}
	}
	t.Logf("%d readers have %d events each; %d contacts were answered", len(a.readers), len(want), a.written.Load())
}
