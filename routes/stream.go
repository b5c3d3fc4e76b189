package routes

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"contactbase/internal/event"
	"contactbase/internal/fault"
)

const (
	eventStream = "text/event-stream"

	streamLimit    = 200              // events that are read at once
	streamInterval = 15 * time.Second // between signs of life
	streamPatience = 30 * time.Second // with a reader that takes nothing
)

// stream answers with the feed as Server-Sent Events, until somebody ends it.
func (r *feedReader) stream() error {
	if id := r.e.Request.Header.Get("Last-Event-ID"); id != "" {
		place, wrong := event.ParsePlace(id)
		if wrong != nil {
			return fault.InvalidParameters(fault.Fields{"Last-Event-ID": *wrong})
		}
		r.query.After = place
	}
	r.query.Limit = streamLimit
	events, err := r.Watcher.Subscribe(r.grant.TenantID)
	if err != nil {
		return err
	}
	defer events.Close()
	if err := r.begin(); err != nil {
		return err
	}
	page, err := r.next()
	if err != nil {
		return err
	}
	header := r.e.Response.Header()
	header.Set("Content-Type", eventStream)
	header.Set("X-Accel-Buffering", "no") // nginx would keep what should arrive at once
	r.e.Response.WriteHeader(http.StatusOK)
	if r.e.Request.Method == http.MethodHead {
		return nil
	}
	if err := http.NewResponseController(r.e.Response).SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return r.follow(events, page)
}

// signOfLife is a comment, which readers pass over.
var signOfLife = []byte(":\n\n")

// always is a channel that is ready.
var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// follow sends a page and what comes behind it, until the reader, the server or the key ends.
func (r *feedReader) follow(events *event.Subscription, page *event.Page) error {
	sign := time.NewTicker(streamInterval)
	defer sign.Stop()
	sent := r.send(signOfLife) && r.sendEvents(page.Events)
	for sent {
		ready := events.C
		if page.More {
			ready = always
		}
		select {
		case <-ready:
		case <-r.keyEnds():
		case <-sign.C:
			sent = r.send(signOfLife)
			continue
		case <-r.Watcher.Ended():
			return nil
		case <-r.e.Request.Context().Done():
			return nil
		}
		err := r.confirm()
		if err == nil {
			page, err = r.next()
		}
		var ended *fault.Error // the reader is told of it when they come again
		if errors.As(err, &ended) {
			return nil
		}
		if err != nil {
			return err
		}
		sent = r.sendEvents(page.Events)
	}
	return nil
}

// sendEvents sends events and tells whether the reader is there.
func (r *feedReader) sendEvents(events []event.Sent) bool {
	var b []byte
	for _, sent := range events {
		b = appendEvent(b, sent)
	}
	return len(b) == 0 || r.send(b)
}

// send sends some of the stream and tells whether the reader is there.
func (r *feedReader) send(b []byte) bool {
	response := http.NewResponseController(r.e.Response)
	if err := response.SetWriteDeadline(time.Now().Add(streamPatience)); err != nil {
		return false
	}
	if _, err := r.e.Response.Write(b); err != nil {
		return false
	}
	return response.Flush() == nil && response.SetWriteDeadline(time.Time{}) == nil
}

// appendEvent appends an event as Server-Sent Events have it.
func appendEvent(b []byte, sent event.Sent) []byte {
	b = append(append(b, "id: "...), sent.ID...)
	b = append(append(b, "\nevent: "...), sent.Kind...)
	b = append(b, "\ndata: "...)
	b = append(b, bytes.ReplaceAll(sent.Body, []byte("\n"), []byte("\ndata: "))...)
	return append(b, "\n\n"...)
}
