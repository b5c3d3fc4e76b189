package routes

import (
	"errors"
	"net/http"
	"time"

	"github.com/pocketbase/pocketbase/tools/routine"

	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/sse"
	"contactbase/internal/tenant"
)

const (
	streamLimit    = 200              // events that are read at once
	streamReads    = 4                // readers of streams that ask the database at a time, so that others find a connection
	streamInterval = 15 * time.Second // between signs of life
)

// stream answers with the feed as Server-Sent Events, until somebody ends it.
func (r *feedReader) stream() error {
	if id := r.e.Request.Header.Get("Last-Event-ID"); id != "" {
		place, wrong := event.ParseCursor(id)
		if wrong != nil {
			return fault.InvalidParameters(fault.Fields{"Last-Event-ID": *wrong})
		}
		r.query.After = place
	}
	if err := r.stays(); err != nil {
		return err
	}
	r.query.Limit = streamLimit
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
		return r.follow(events, page, out)
	}
	if !out.IsHijacked() {
		return follow()
	}
	r.e = nil // it is as large as all that a reader keeps who waits
	routine.FireAndForget(func() {
		if err := follow(); err != nil {
			r.app.Logger().Error("streaming events", "error", err)
		}
	})
	return nil
}

// beginStream reads the first page, before which a fault is still an answer, and answers that there is a stream.
func (r *feedReader) beginStream() (*event.Page, error) {
	err := r.begin()
	if err != nil {
		return nil, err
	}
	if r.told = r.place; r.told == event.Oldest {
		if r.told, err = event.Start(r.app, r.identity.TenantID); err != nil {
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
		header.Set("Connection", "close") // which ends with the stream: nobody sends another request there
	}
	header.Set("X-Accel-Buffering", "no") // nginx would keep what should arrive at once
	r.e.Response.WriteHeader(http.StatusOK)
	return page, nil
}

// stays refuses a stream of a tenant that moves: there will be no more events here, and a client that reconnects reaches the installation that has them.
func (r *feedReader) stays() error {
	if r.identity.Moving != tenant.Open {
		return tenant.ErrMoving
	}
	return nil
}

// always is a channel that is ready.
var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// follow sends a page and what comes behind it, until the reader, the server or the key ends.
func (r *feedReader) follow(events *event.Subscription, page *event.Page, out *sse.Stream) error {
	sign := time.NewTicker(streamInterval)
	defer sign.Stop()
	sent := out.Send(r.appendPlace(r.appendEvents(sse.AppendID([]byte(sse.Heartbeat), r.told), page.Events)))
	for sent {
		ready := events.C
		if page.More {
			ready = always
		}
		select {
		case <-ready:
		case <-r.keyEnds():
		case <-sign.C:
			sent = out.Send(r.appendPlace([]byte(sse.Heartbeat)))
			continue
		case <-r.Watcher.Ended():
			return nil
		case <-out.Gone():
			return nil
		}
		err := r.aside(func() (err error) {
			if err = r.confirm(); err != nil {
				return err
			}
			if page, err = r.next(); err == nil && len(page.Events) == 0 {
				err = r.stays()
			}
			return err
		})
		var ended *fault.Error // the reader gets it with the next request
		if errors.As(err, &ended) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(page.Events) > 0 {
			sent = out.Send(r.appendEvents(nil, page.Events))
		}
	}
	return nil
}

// appendEvents appends events to b.
func (r *feedReader) appendEvents(b []byte, events []event.Sent) []byte {
	for _, sent := range events {
		b = sse.AppendEvent(b, sent.ID, sent.Kind, sent.Body)
		r.told = sent.ID
	}
	return b
}

// appendPlace appends the id of the last event that was read to b if the filter has left out that event: a reader that comes again
// goes on behind it, however long ago it received an event.
func (r *feedReader) appendPlace(b []byte) []byte {
	if r.told == r.place {
		return b
	}
	r.told = r.place
	return sse.AppendID(b, r.place)
}

// aside runs f on a stack of its own, a few of them at a time: a query takes more of it than thousands of readers should keep.
func (s *server) aside(f func() error) error {
	s.reading <- struct{}{}
	defer func() { <-s.reading }()
	ended := make(chan error)
	go func() { ended <- routine.SafeWrap(f)() }()
	return <-ended
}
