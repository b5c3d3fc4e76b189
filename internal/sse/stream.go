// Package sse sends Server-Sent Events to thousands of clients
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

// Heartbeat is a comment, which clients ignore.
const Heartbeat = ":\n\n"

const (
	timeout    = 30 * time.Second // of a write
	endTimeout = time.Second      // of a write during which the server stops
)

// Stream is a stream to a client. With HTTP/1 it hijacks the connection, because net/http needs four times as much
// memory for an idle connection. With HTTP/2 it writes to the response.
type Stream struct {
	conn    net.Conn // the hijacked connection; nil with HTTP/2
	chunked bool     // whether conn uses the chunked transfer coding of HTTP/1.1
	broken  bool     // whether a write to conn failed

	response http.ResponseWriter // nil with a hijacked connection
	gone     <-chan struct{}     // closed when the client disconnects; nil with a hijacked connection
}

// NewStream returns the stream of a request whose response header has been written.
func NewStream(w http.ResponseWriter, r *http.Request) *Stream {
	server := http.NewResponseController(w)
	if server.Flush() == nil {
		if conn, _, err := server.Hijack(); err == nil {
			_ = conn.SetDeadline(time.Time{}) // the client may stay connected as long as it wants
			return &Stream{conn: conn, chunked: r.ProtoAtLeast(1, 1)}
		}
	}
	_ = server.SetReadDeadline(time.Time{})
	return &Stream{response: w, gone: r.Context().Done()}
}

// IsHijacked reports whether the stream has hijacked the connection, so that the handler of the request may return.
func (s *Stream) IsHijacked() bool { return s.conn != nil }

// Gone returns a channel that is closed when the client disconnects. It is nil with a hijacked connection: then
// only Send notices.
func (s *Stream) Gone() <-chan struct{} { return s.gone }

// Send sends a part of the stream, and reports whether that succeeded.
func (s *Stream) Send(b []byte) bool {
	if s.IsHijacked() {
		if s.chunked {
			b = chunk(b)
		}
		_ = s.conn.SetWriteDeadline(time.Now().Add(timeout))
		_, err := s.conn.Write(b)
		s.broken = err != nil
		return err == nil
	}
	server := http.NewResponseController(s.response)
	if server.SetWriteDeadline(time.Now().Add(timeout)) != nil {
		return false
	}
	if _, err := s.response.Write(b); err != nil {
		return false
	}
	return server.Flush() == nil && server.SetWriteDeadline(time.Time{}) == nil
}

// Hurry fails a write to a hijacked connection whose client does not read, instead of letting it take all its time.
// It may be called at any time, by any goroutine.
func (s *Stream) Hurry() {
	if s.IsHijacked() {
		_ = s.conn.SetWriteDeadline(time.Now().Add(endTimeout))
	}
}

// Close ends the stream.
func (s *Stream) Close() {
	if !s.IsHijacked() {
		return
	}
	if s.chunked && !s.broken {
		_, _ = s.conn.Write([]byte("0\r\n\r\n")) // the client may have disconnected
	}
	_ = s.conn.Close()
}

// chunk returns b as a chunk of HTTP/1.1's transfer coding.
func chunk(b []byte) []byte {
	c := strconv.AppendInt(make([]byte, 0, len(b)+16), int64(len(b)), 16)
	c = append(append(c, "\r\n"...), b...)
	return append(c, "\r\n"...)
}

// AppendEvent appends an event to b. Its data may have line breaks.
func AppendEvent(b []byte, id, kind string, data []byte) []byte {
	b = append(append(b, "id: "...), id...)
	b = append(append(b, "\nevent: "...), kind...)
	b = append(b, "\ndata: "...)
	b = append(b, bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: "))...)
	return append(b, "\n\n"...)
}

// AppendID appends a block without an event to b. A client that reconnects sends that id as the id of the last event.
func AppendID(b []byte, id string) []byte {
	return append(append(append(b, "id: "...), id...), "\n\n"...)
}
