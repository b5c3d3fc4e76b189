// Package sse sends Server-Sent Events to readers of which there may be thousands
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
package sse

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"
)

// MediaType is the content type of a stream.
const MediaType = "text/event-stream"

// SignOfLife is a comment, which readers pass over.
const SignOfLife = ":\n\n"

// timeout is how long a reader may take nothing.
const timeout = 30 * time.Second

// Outlet is where a stream goes: to a connection that is taken from the server, which keeps four times as much for each as a
// reader needs who waits, or with HTTP/2 to the response.
type Outlet struct {
	conn    net.Conn // nil where it is not taken
	chunked bool     // as HTTP/1.1 is

	response http.ResponseWriter // nil where the connection is taken
	gone     <-chan struct{}     // closed when the reader has gone, as far as the server tells
}

// NewOutlet returns the outlet of a request whose header has been written.
func NewOutlet(w http.ResponseWriter, r *http.Request) *Outlet {
	server := http.NewResponseController(w)
	if server.Flush() == nil {
		if conn, _, err := server.Hijack(); err == nil {
			_ = conn.SetDeadline(time.Time{}) // a reader may read for as long as it likes
			return &Outlet{conn: conn, chunked: r.ProtoAtLeast(1, 1)}
		}
	}
	_ = server.SetReadDeadline(time.Time{})
	return &Outlet{response: w, gone: r.Context().Done()}
}

// IsTaken reports whether the stream has a connection of its own, so that the handler of the request may return.
func (o *Outlet) IsTaken() bool { return o.conn != nil }

// Gone is closed when the server knows that the reader has gone. Otherwise Send tells, in time.
func (o *Outlet) Gone() <-chan struct{} { return o.gone }

// Send sends some of the stream and reports whether the reader is there.
func (o *Outlet) Send(b []byte) bool {
	if o.IsTaken() {
		if o.chunked {
			b = chunk(b)
		}
		_ = o.conn.SetWriteDeadline(time.Now().Add(timeout))
		_, err := o.conn.Write(b)
		return err == nil
	}
	server := http.NewResponseController(o.response)
	if server.SetWriteDeadline(time.Now().Add(timeout)) != nil {
		return false
	}
	if _, err := o.response.Write(b); err != nil {
		return false
	}
	return server.Flush() == nil && server.SetWriteDeadline(time.Time{}) == nil
}

// Close ends the stream.
func (o *Outlet) Close() {
	if !o.IsTaken() {
		return
	}
	if o.chunked {
		_, _ = o.conn.Write([]byte("0\r\n\r\n")) // a reader that is gone needs no end
	}
	_ = o.conn.Close()
}

// chunk returns a chunk of HTTP/1.1's transfer coding.
func chunk(b []byte) []byte {
	c := strconv.AppendInt(make([]byte, 0, len(b)+16), int64(len(b)), 16)
	c = append(append(c, "\r\n"...), b...)
	return append(c, "\r\n"...)
}

// AppendEvent appends an event to b. Line breaks in its data stay what they are.
func AppendEvent(b []byte, id, kind string, data []byte) []byte {
	b = append(append(b, "id: "...), id...)
	b = append(append(b, "\nevent: "...), kind...)
	b = append(b, "\ndata: "...)
	b = append(b, bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: "))...)
	return append(b, "\n\n"...)
}

// AppendID appends a block without an event to b: a reader that comes again sends that id, as if it were that of the last event.
func AppendID(b []byte, id string) []byte {
	return append(append(append(b, "id: "...), id...), "\n\n"...)
}
