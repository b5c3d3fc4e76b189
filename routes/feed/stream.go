package feed

import (
	"errors"
	"net/http"
	"time"

	"github.com/pocketbase/pocketbase/tools/routine"

	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/sse"
)

const (
	streamLimit    = 200              // events read at once
	streamReads    = 4                // streams reading the database at a time, so that connections stay free for others
	streamInterval = 15 * time.Second // between keep-alive comments
)

// stream answers with the feed as Server-Sent Events until the client, the server or the key ends it.
func (r *reader) stream() error {
	if id := r.e.Request.Header.Get("Last-Event-ID"); id != "" {
		cursor, wrong := event.ParseCursor(id)
		if wrong != nil {
			return fault.InvalidParameters(fault.Fields{"Last-Event-ID": *wrong})
		}
		r.query.After = cursor
	}
	// no more events happen here; a client that reconnects reaches the new installation
	if err := r.identity.State.Writable(); err != nil {
		return err
	}
	r.query.Limit, r.streams = streamLimit, true
	events, err := r.Watcher.Subscribe(r.identity.TenantID)
	if err != nil {
		return err
	}
	page, err := r.beginStream()
	if err != nil {
		events.Close()
		return err
	}
	if r.e.Request.Method == http.MethodHead {
		events.Close()
		return nil
	}
	out := sse.NewStream(r.e.Response, r.e.Request)
	follow := func() error {
		defer events.Close()
		defer out.Close()
		defer r.Watcher.OnEnd(out.Hurry)()
		return r.follow(events, page, out)
	}
	if !out.IsHijacked() {
		return follow()
	}
	r.e = nil // it is as large as everything else that a waiting reader keeps
	r.Background(func() {
		if err := follow(); err != nil {
			r.app.Logger().Error("streaming events", "error", err)
		}
	})
	return nil
}

// beginStream reads the first page, while an error can still be a response, and sends the header.
func (r *reader) beginStream() (*sharedPage, error) {
	err := r.begin()
	if err != nil {
		return nil, err
	}
	if r.sentCursor = r.cursor; r.sentCursor == event.Oldest {
		if r.sentCursor, err = event.Start(r.app, r.identity.TenantID); err != nil {
			return nil, err
		}
	}
	page, err := r.next()
	if err != nil {
		return nil, err
	}
	header := r.e.Response.Header()
	header.Set("Content-Type", sse.MediaType)
	if r.e.Request.ProtoMajor == 1 {
		header.Set("Connection", "close") // it ends with the stream: nobody sends another request on it
	}
	header.Set("X-Accel-Buffering", "no") // nginx would buffer events
	r.e.Response.WriteHeader(http.StatusOK)
	return page, nil
}

// always is a channel that is always ready.
var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// follow sends a page and the events after it, until the client, the server or the key ends.
func (r *reader) follow(events *event.Subscription, page *sharedPage, out *sse.Stream) error {
	sign := time.NewTicker(streamInterval)
	defer sign.Stop()
	start := sse.AppendID([]byte(sse.Heartbeat), r.sentCursor)
	sent := out.Send(r.appendSkippedID(append(start, r.blocks(page)...)))
	for sent {
		ready := events.C
		if page.More {
			ready = always
		}
		select {
		case <-ready:
		case <-r.keyEnds():
		case <-sign.C:
			sent = out.Send(r.appendSkippedID([]byte(sse.Heartbeat)))
			continue
		case <-r.Watcher.Ended():
			return nil
		case <-out.Gone():
			return nil
		}
		var err error
		if page, err = r.next(); err == nil && len(page.Events) == 0 {
			err = r.identity.State.Writable()
		}
		var ended *fault.Error // the client gets it with the next request
		if errors.As(err, &ended) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(page.Events) > 0 {
			sent = out.Send(r.blocks(page))
		}
	}
	return nil
}

// blocks returns the events of a page, which the caller sends.
func (r *reader) blocks(page *sharedPage) []byte {
	if n := len(page.Events); n > 0 {
		r.sentCursor = page.Events[n-1].ID
	}
	return page.encoded
}

// appendSkippedID appends the id of the last event read if the filter skipped that event. A client that reconnects
// then continues after it.
func (r *reader) appendSkippedID(b []byte) []byte {
	if r.sentCursor == r.cursor {
		return b
	}
	r.sentCursor = r.cursor
	return sse.AppendID(b, r.cursor)
}

// onOwnStack runs a stream's f on its own stack, a few at a time: a query needs more stack than thousands of
// readers should keep.
func (r *reader) onOwnStack(f func() error) error {
	if !r.streams {
		return f()
	}
	r.reading <- struct{}{}
	defer func() { <-r.reading }()
	ended := make(chan error)
	go func() { ended <- routine.SafeWrap(f)() }()
	return <-ended
}
